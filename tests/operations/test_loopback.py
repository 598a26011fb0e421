"""The guard of this folder's tests: an address beyond loopback fails whatever asks for it."""

import socket

import pytest


@pytest.mark.parametrize("host", ["192.0.2.1", "169.254.169.254", "::2"])
def test_connecting_beyond_loopback_fails(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as opened, pytest.raises(AssertionError, match="beyond loopback"):
        opened.connect((host, 443))


@pytest.mark.parametrize("name", ["management.azure.com", "login.microsoftonline.com"])
def test_looking_up_a_name_beyond_loopback_fails(name: str) -> None:
    with pytest.raises(AssertionError, match="beyond loopback"):
        socket.getaddrinfo(name, 443)
