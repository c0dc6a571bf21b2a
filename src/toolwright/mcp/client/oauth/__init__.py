"""Logging in to MCP servers over HTTP: OAuth 2.1 with PKCE, for a person with a browser."""
