"""A home full of secrets, as people's homes are, for tests that nothing in it can be read."""

from __future__ import annotations

import os
from pathlib import Path

HISTORIES = """.bash_history .zsh_history .sh_history .local/share/fish/fish_history .irb_history .pry_history
    .sqlite_history .psql_history .mysql_history .python_history .node_repl_history .rediscli_history .dbshell
    .mongodb/mongosh/history .lesshst .viminfo .local/share/nvim/shada/main.shada .wget-hsts .gdb_history
    .ghc/ghci_history .julia/logs/repl_history.jl .php_history .scala_history .erlang-history
    .config/nushell/history.txt .local/share/powershell/PSReadLine/ConsoleHost_history.txt
    .ipython/profile_default/history.sqlite .local/share/recently-used.xbel .xonsh_history .clisp_history .octave_hist"""
KEYS = """.ssh/id_ed25519 .ssh/config .ssh/known_hosts .gnupg/private-keys-v1.d/a.key .gnupg/pubring.kbx .age/key.txt
    .config/sops/age/keys.txt .password-store/mail.gpg .local/share/keyrings/login.keyring
    .local/share/kwalletd/kdewallet.kwl .config/keepassxc/keepassxc.ini passwords.kdbx .config/Bitwarden/data.json
    .config/1Password/settings .config/op/config .putty/sessions/x .pki/nssdb/key4.db .android/adbkey
    .android/debug.keystore .keystore .minisign/minisign.key .config/gopass/config .local/share/gopass/stores/root/x.gpg
    .step/secrets/key .cert/client.pem"""
CLOUDS = """.aws/credentials .aws/sso/cache/a.json .azure/msal_token_cache.json .config/gcloud/credentials.db
    .config/gcloud/application_default_credentials.json .oci/config .bluemix/config.json .ibmcloud/config.json
    .aliyun/config.json .config/doctl/config.yaml .config/linode-cli .config/hcloud/cli.toml .config/scw/config.yaml
    .config/vercel/auth.json .local/share/com.vercel.cli/auth.json .config/netlify/config.json .netlify/config.json
    .fly/config.yml .railway/config.json .heroku/token .config/heroku/accounts .config/cloudflared/cert.pem
    .cloudflared/cert.pem .wrangler/config/default.toml .config/.wrangler/config/default.toml .pulumi/credentials.json
    .terraform.d/credentials.tfrc.json .terraformrc .vault-token .boto .s3cfg .mc/config.json .config/rclone/rclone.conf
    .config/b2/account_info .snowflake/connections.toml .snowsql/config .databrickscfg .config/stripe/config.toml
    .config/supabase/access-token .supabase/access-token .config/planetscale/token .config/firebase/config.json
    .config/configstore/firebase-tools.json .sentryclirc .config/sentry .newrelic/credentials.json
    .config/ngrok/ngrok.yml .ngrok2/ngrok.yml .tailscale/state .config/twilio-cli/config.json .kaggle/kaggle.json
    .cache/huggingface/token .cache/huggingface/stored_tokens .huggingface/token .wandb/settings .config/wandb/settings
    .config/openai/auth.json .modal.toml .runpod/config.toml .replicate/auth .cometml.config"""
CONTAINERS = """.kube/config .kube/cache/http/a .docker/config.json .docker/contexts/meta/a/meta.json
    .config/containers/auth.json .config/helm/registry/config.json .config/helm/repositories.yaml .config/argocd/config
    .minikube/ca.key .k3d/kubeconfig .kind/config .rancher/cli2.json .vagrant.d/data/vagrant_login_token
    .config/podman/podman-connections.json .lima/_config/user .talos/config .config/k9s/clusters/x.yaml .krew-token"""
REGISTRIES = """.npmrc .npm/_logs/debug.log .yarnrc .yarnrc.yml .bunfig.toml .config/configstore/update-notifier.json
    .pypirc .pip/pip.conf .config/pip/pip.conf .config/pypoetry/auth.toml .config/uv/uv.toml
    .local/share/uv/credentials/credentials.toml .rye/credentials .condarc .continuum/anaconda-client/tokens/x
    .cargo/credentials .cargo/credentials.toml .cargo/config.toml .gem/credentials .bundle/config .composer/auth.json
    .config/composer/auth.json .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .gradle/init.gradle
    .ivy2/.credentials .sbt/1.0/credentials .sbt/credentials .nuget/NuGet/NuGet.Config .config/NuGet/NuGet.Config
    .hex/hex.config .pub-cache/credentials.json .cabal/config .stack/config.yaml .julia/servers/pkg/auth.toml
    .config/git/credentials .git-credentials .gitconfig .config/git/config .netrc .config/gh/hosts.yml .config/hub
    .config/glab-cli/config.yml .config/tea/config.yml .config/jj/config.toml .hgrc .subversion/auth/svn.simple/a
    .config/bitbucket/auth .dotnet/corefx/cryptography/x509stores/my/a.pfx .foundry/keystores/a .opam/log/a.env
    .pyenv/versions/3.12/pip.conf .nvm/versions/node/v22/etc/npmrc miniconda3/.condarc go/pkg/mod/cache/vcs/a/config
    .gradle/caches/8.5/cc-keystore/gradle.keystore .brev/credentials.json .config/pdm/config.toml
    .config/hatch/config.toml"""
DATABASES = """.pgpass .pg_service.conf .my.cnf .mylogin.cnf .config/pgcli/config .config/mycli/myclirc .mongorc.js
    .config/mongocli/config.toml .config/litecli/history .dbeaver4/credentials.json
    .local/share/DBeaverData/workspace6/General/.dbeaver/credentials-config.json .redisclirc .influxdbv2/configs
    .arangodb/x"""
BROWSERS = """.mozilla/firefox/a/logins.json snap/firefox/common/.mozilla/firefox/a/key4.db
    snap/chromium/common/chromium/Default/Cookies snap/brave/current/.config/BraveSoftware/Login
    .config/google-chrome/Default/Cookies .config/chromium/Default/Cookies .config/BraveSoftware/Brave/Cookies
    .config/microsoft-edge/Default/Cookies .config/vivaldi/Default/Cookies .config/opera/Cookies
    .var/app/org.mozilla.firefox/data/logins.json .thunderbird/a/logins.json .config/Slack/Cookies .config/discord/token
    .config/Signal/config.json .local/share/TelegramDesktop/tdata/key .config/Element/x .config/evolution/sources/x
    .mutt/muttrc .muttrc .msmtprc .mbsyncrc .fetchmailrc .authinfo .authinfo.gpg .config/aerc/accounts.conf
    .config/qutebrowser/cookies .config/epiphany/x .librewolf/a/key4.db .config/zoomus.conf .config/Mattermost/Cookies
    .weechat/sec.conf .config/hexchat/x"""
EDITORS_AND_AGENTS = """.config/Code/User/globalStorage/state.vscdb .config/Code/User/settings.json
    .vscode-server/data/token .config/Cursor/User/globalStorage/state.vscdb .cursor/mcp.json
    .config/JetBrains/Idea/options/security.xml .local/share/JetBrains/consent .config/github-copilot/hosts.json
    .config/github-copilot/apps.json .config/zed/settings.json .emacs.d/auth .config/nvim/secrets.lua .vimrc .netrwhist
    .claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json .config/goose/secrets.yaml
    .local/share/goose/sessions/a .aider.conf.yml .aider/oauth-keys.env .config/opencode/auth.json
    .local/share/opencode/auth.json .continue/config.json .codeium/config.json .windsurf/token .config/amp/settings.json
    .qwen/oauth_creds.json .ollama/id_ed25519 .config/io.datasette.llm/keys.json .toolwright/settings.json
    .config/toolwright/settings.json .config/fabric/.env .config/crush/crush.json .tabnine/token .sourcegraph/token"""
PLAIN = """.env .envrc .bashrc .zshrc .profile .bash_profile .zshenv .config/environment.d/keys.conf
    .config/fish/config.fish .config/mise/config.toml .config/systemd/user/x.service .config/direnv/direnv.toml
    .Xauthority .ICEauthority notes.txt Documents/taxes.txt Desktop/wallet.txt Downloads/recovery-codes.txt
    .bitcoin/wallet.dat .ethereum/keystore/a .config/solana/id.json .electrum/wallets/default_wallet .monero/wallet
    other-project/.env work/client/key.pem mail/inbox .local/state/app/token .local/share/app/token .cache/app/token
    .config/app/token"""
SECRETS = " ".join(
    (HISTORIES, KEYS, CLOUDS, CONTAINERS, REGISTRIES, DATABASES, BROWSERS, EDITORS_AND_AGENTS, PLAIN)
).split()  # fmt: skip
NEEDED = """.cargo/bin/cargo .cargo/registry/index .rustup/toolchains/x .pyenv/versions/3.12/bin/python
    .nvm/versions/node/v22/bin/node .m2/repository/a.jar .gradle/caches/8.5/a .local/bin/tool .cache/uv/x
    go/pkg/mod/a.go .local/share/uv/tools/x""".split()  # noqa: SIM905 — a word list reads better


def plant(home: Path, token: str, *, owner: int | None = None) -> None:
    """Fill a home: each secret holds the token and its own name."""
    for name, content in (*((name, f"{token} {name}\n") for name in SECRETS), *((name, f"fine {name}\n") for name in NEEDED)):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[user]\n\tname = Ada\n[github]\n\ttoken = {content}" if "gitconfig" in name else content)
    if owner is not None:
        for folder, _, files in os.walk(home):
            for each in (folder, *(os.path.join(folder, name) for name in files)):
                os.chown(each, owner, owner)
