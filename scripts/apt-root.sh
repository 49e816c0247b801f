# apt-root.sh - to be sourced: apt in a folder of its own, which reads packages of any suite and writes no file of the host.
#
# The caller has a folder $work and a function say.

# The mirror this system itself uses.
mirror() {
    local found
    found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
        grep -v '^[[:space:]]*#' | grep -oE 'https?://[^][:space:]]+/debian/?([[:space:]]|$)' | head -n 1) || true
    found=${found%%[[:space:]]*}
    printf '%s\n' "${found:-http://deb.debian.org/debian}"
}

# Sets up apt in the folder $1 for suite $2 and architecture $3. It uses the proxy of the host, and writes no file of the host.
apt_root() {
    local root=$1 suite=$2 architecture=$3
    mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial"
    : >"$root/status"
    printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
        deb "$(mirror)" "$suite" deb-src "$(mirror)" "$suite" >"$root/sources.list"
    {
        apt-config dump | grep -E '^Acquire::(http|https)::' || true
        cat <<CONF
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
Dir::State "$root/state";
Dir::State::status "$root/status";
Dir::Cache "$root/cache";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$root/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "root";
CONF
    } >"$root/apt.conf"
}

# Sets up apt for suite $1 below $work, once; fails if its package list cannot be read. Its packages are those of this host's
# architecture, or of $architecture if it is set.
open_suite() {
    local root=$work/$1
    [[ -e $root/apt.conf ]] && return 0
    say "reading the package list of Debian $1 from $(mirror)"
    apt_root "$root" "$1" "${architecture:-$(dpkg --print-architecture)}"
    APT_CONFIG=$root/apt.conf apt-get update -qq -o APT::Update::Error-Mode=any >&2 || {
        rm -rf "$root"
        return 1
    }
}
