import pytest

from toolwright.protocol.transport import Transport


def test_a_transport_has_the_six_methods_and_no_more() -> None:
    assert Transport.__abstractmethods__ == {"connect", "write", "read_messages", "close", "is_ready", "end_input"}


def test_a_transport_that_lacks_one_cannot_be_made() -> None:
    class Half(Transport):
        async def connect(self) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]  # the point of the test
