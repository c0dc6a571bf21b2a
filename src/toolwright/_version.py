"""The package's version, and the protocol version whose clients we serve."""

__version__ = "0.1.0"

COMPATIBLE_SDK_VERSION = "0.2.182"
"""The release of the Python SDK whose names, fields and behaviour ours are held against."""

COMPATIBLE_CLI_VERSION = "2.1.325"
"""What `system/init` reports as `claude_code_version`: existing SDKs check it before they talk to a CLI."""
