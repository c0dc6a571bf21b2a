"""Where people and programs keep secrets: hidden from commands unless the person works right there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache

_OF_HOME = """.ssh .gnupg .aws .azure .kube .config/gcloud .config/gh .config/hub .config/glab-cli .config/op .config/doctl
    .config/rclone .config/sops .config/age .docker/config.json .docker/contexts .netrc .npmrc .yarnrc.yml .pypirc .pgpass
    .my.cnf .git-credentials .config/git/credentials .cargo/credentials .cargo/credentials.toml .gem/credentials
    .m2/settings.xml .gradle/gradle.properties .terraform.d/credentials.tfrc.json .vault-token .boto .s3cfg .oci .bluemix
    .ibmcloud .config/linode-cli .fly .railway .heroku .password-store .local/share/keyrings .local/share/kwalletd
    .config/keepassxc .config/Bitwarden .config/1Password .authinfo .authinfo.gpg .bash_history .zsh_history
    .python_history .psql_history .mysql_history .node_repl_history .lesshst .viminfo .mozilla .config/google-chrome
    .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi .config/opera .var/app .thunderbird
    .config/Slack .config/discord .config/Signal .local/share/TelegramDesktop .claude .claude.json .toolwright .codex
    .gemini .cursor .config/toolwright .config/github-copilot Library/Keychains Library/Cookies Library/Mail
    Library/Messages Library/Safari Library/Application\u00a0Support/Google Library/Application\u00a0Support/Firefox
    Library/Application\u00a0Support/BraveSoftware"""
_OF_MACHINE = """
    /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private /etc/krb5.keytab
    /etc/security/opasswd /etc/docker/key.json /var/lib/docker /var/lib/kubelet /var/lib/rancher /etc/kubernetes
    /etc/rancher /run/secrets /var/run/secrets /run/credentials /run/user /var/backups /var/spool/cron /var/mail
    /etc/NetworkManager/system-connections /etc/wireguard /etc/openvpn /etc/ppp /etc/letsencrypt /etc/polkit-1/private"""
_NAMED_BY_VARIABLES = (
    "AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE KUBECONFIG GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG AZURE_CONFIG_DIR "
    "DOCKER_CONFIG GNUPGHOME NETRC PGPASSFILE NPM_CONFIG_USERCONFIG PIP_CONFIG_FILE CLAUDE_CONFIG_DIR TOOLWRIGHT_CONFIG_DIR"
)
_HOMES = ("/home", "/Users")
_HARMLESS_ENDS = (".example", ".sample", ".template", ".dist", ".defaults", ".schema")


def secret_places(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Every place on this machine that is hidden by default, whether or not there is something."""
    named = tuple(value for name in _NAMED_BY_VARIABLES.split() if (value := environment.get(name)))
    return tuple(dict.fromkeys((*_known_places(home, named), *_host_keys(), *_other_homes(home))))


@lru_cache(maxsize=16)
def _known_places(home: str, named: tuple[str, ...]) -> tuple[str, ...]:
    of_home = (os.path.join(home, name.replace("\u00a0", " ")) for name in _OF_HOME.split())
    of_variables = (path for value in named for path in value.split(":") if path.startswith("/") and path != home)
    return (*of_home, *_OF_MACHINE.split(), *of_variables)


def is_env_file(path: str) -> bool:
    """Whether a file is one that projects keep their secrets in: `.env`, `.env.local`, but not `.env.example`."""
    name = path.rpartition("/")[2]
    return name == ".env" or (name.startswith(".env.") and not name.endswith(_HARMLESS_ENDS))


def _host_keys() -> Iterator[str]:
    with suppress(OSError):
        for name in os.listdir("/etc/ssh"):
            if name.startswith("ssh_host_") and name.endswith("_key"):
                yield f"/etc/ssh/{name}"


def _other_homes(home: str) -> Iterator[str]:
    """What other people keep in their homes; root's counts unless it is ours or ours lies in it."""
    if not (home == "/root" or home.startswith("/root/")):
        yield "/root"
    for folder in _HOMES:
        with suppress(OSError):
            for name in os.listdir(folder):
                path = f"{folder}/{name}"
                if home != path and not home.startswith(path + "/"):
                    yield path
