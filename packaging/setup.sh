#!/bin/sh
# From a fresh machine to a running fairpar: sh packaging/setup.sh [--no-install | --test-deps | --cluster-deps]
#
# Finds what is missing, names it and the line that installs it, and runs that line (as root, or by sudo); builds; and
# shows on real files what fairpar is for. With --no-install it only names what is missing. With --test-deps it only
# installs the tools that single tests of `make check` ask for (other shells, strace, linters ...); without them those tests
# are skipped by name. So does --cluster-deps for `make check-cluster`: sshd and Slurm, of which no service is started or
# enabled. Nothing is installed outside the system's packages, and fairpar itself is left where it was built.

set -eu
cd "$(dirname "$0")/.."
say() { printf '%s\n' "$*"; }
die() { say "setup.sh: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

install=yes test_deps=no cluster_deps=no
case ${1-} in
'') ;;
--no-install) install=no ;;
--test-deps) test_deps=yes ;;
--cluster-deps) test_deps=yes cluster_deps=yes ;;
*) die "unknown argument '$1'; usage: sh packaging/setup.sh [--no-install | --test-deps | --cluster-deps]" ;;
esac

sudo=
if [ "$(id -u)" != 0 ] && ! have brew; then
	sudo='sudo '
fi

# Runs the line that installs packages, after showing it.
run_install() { # LINE
	say "To install it: $1"
	[ "$install" = yes ] || exit 0
	if [ -n "$sudo" ] && ! have sudo; then
		die "you are not root and there is no sudo: please have that line run as root, then run this again"
	fi
	sh -c "$1"
}

# The tools of single tests --------------------------------------------------------------------------------------------

# COMMAND or COMMAND=PACKAGE, by Debian's names.
test_tools='bc busybox clang dash debootstrap fish git groff jq ksh mandoc mksh musl-gcc=musl-tools openssl parallel perl
	prlimit=util-linux python3 script=bsdutils shellcheck spin strace tmux xmllint=libxml2-utils yash zsh'
[ "$cluster_deps" = no ] || test_tools='slurmctld=slurm-wlm ssh=openssh-client sshd=openssh-server'

# The tests start these programs by themselves, as they need them. So Debian's packages must not: while they are installed a
# policy forbids it, and what a later boot would start is disabled.
policy=/usr/sbin/policy-rc.d
as_root() { if [ -n "$sudo" ]; then sudo "$@"; else "$@"; fi; }
install_without_services() { # UPDATE INSTALL
	if [ "$install" = yes ] && [ ! -e "$policy" ] && { [ -z "$sudo" ] || have sudo; }; then
		trap 'as_root rm -f "$policy"' EXIT
		trap 'exit 130' INT TERM
		printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
		as_root chmod 755 "$policy"
	fi
	if ! run_install "$1; $2$tools"; then
		# apt installs none where one is not there, and not every Debian has all of them
		lacking=
		for tool in $tools; do
			sh -c "$2 $tool" || lacking="$lacking $tool"
		done
		say "Not installed, so tests that ask for it are skipped by name:$lacking"
		[ "$lacking" != "$tools" ] || die "installing failed; once the line above succeeds, run this again"
	fi
	if [ -d /run/systemd/system ]; then
		for tool in $tools; do
			case $tool in
			openssh-server) as_root systemctl disable ssh.service ssh.socket ;;
			slurm-wlm) as_root systemctl disable slurmctld.service slurmd.service munge.service ;;
			esac
		done 2>/dev/null || :
	fi
}

if [ "$test_deps" = yes ]; then
	PATH=$PATH:/usr/sbin:/sbin # where sshd and slurmctld are
	tools=
	for tool in $test_tools; do
		have "${tool%%=*}" || tools="$tools ${tool#*=}"
	done
	if have apt-get; then
		# Debian has clang's sanitizers and fuzzer, and the sources of locales, in packages of their own.
		echo 'int main(void) { return 0; }' | clang -fsanitize=address,fuzzer-no-link -x c -o /dev/null - 2>/dev/null ||
			tools="$tools libclang-rt-dev"
		[ -e /usr/share/i18n/charmaps/GBK.gz ] || tools="$tools locales"
	fi
	if [ -z "$tools" ]; then
		say "Nothing is missing."
	elif have apt-get; then
		install_without_services "${sudo}apt-get update" \
			"${sudo}env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends"
	else
		say "Tests ask for these tools (the names are those of Debian's packages) and are skipped without them:$tools"
	fi
	exit 0
fi

# What is missing ------------------------------------------------------------------------------------------------------

CC=${CC:-cc}
has_header() { printf '#include <%s>\n' "$1" | $CC -E - >/dev/null 2>&1; }

missing=
have "${CC%% *}" && has_header stdio.h || missing="$missing compiler"
have make || missing="$missing make"
has_header yaml.h || missing="$missing libyaml"
have pkg-config || missing="$missing pkg-config"
have bats || missing="$missing bats"
have bash || missing="$missing bash"
have ps || missing="$missing procps"

# The packages for "$missing", by the names of one system after the other.
packages() { # COMPILER LIBYAML PKG-CONFIG BATS
	for part in $missing; do
		case $part in
		compiler) printf ' %s' "$1" ;;
		libyaml) printf ' %s' "$2" ;;
		pkg-config) printf ' %s' "$3" ;;
		bats) printf ' %s' "$4" ;;
		*) printf ' %s' "$part" ;;
		esac
	done
}

if [ -n "$missing" ]; then
	say "Missing:$missing"
	if have apt-get; then
		line="${sudo}apt-get update; ${sudo}env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends$(
			packages 'gcc libc6-dev' libyaml-dev pkg-config bats)"
	elif have dnf; then
		line="${sudo}dnf install -y$(packages 'gcc glibc-devel' libyaml-devel pkgconf-pkg-config bats | sed s/procps/procps-ng/)"
	elif have apk; then
		# the tests use options that busybox has not
		line="${sudo}apk add$(packages build-base yaml-dev pkgconf 'bats coreutils diffutils findutils grep')"
	elif have pacman; then
		line="${sudo}pacman -S --needed --noconfirm$(packages gcc libyaml pkgconf bats | sed s/procps/procps-ng/)"
	elif have zypper; then
		line="${sudo}zypper --non-interactive install$(packages 'gcc glibc-devel' libyaml-devel pkg-config bats)"
	elif have brew; then
		line="brew install$(packages gcc libyaml pkgconf bats-core)"
	else
		die "no apt-get, dnf, apk, pacman, zypper or brew here: please install what is missing, then run this again"
	fi
	run_install "$line" || die "installing failed; once the line above succeeds, run this again"
elif [ "$install" = no ]; then
	say "Nothing is missing."
	exit 0
fi

# Build ----------------------------------------------------------------------------------------------------------------

cpus=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
say "Building: make -j$cpus"
make -j"$cpus" || die "the build failed"
./fairpar --version

# Demonstrate ----------------------------------------------------------------------------------------------------------
#
# The same work twice, on two slots: a long list of files to compress and, when a tenth of it is done, a few more.
# First as two batches, of which the second arrives late through a fifo; then all in one queue.

demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
trap 'exit 130' INT TERM
mkdir "$demo/fair" "$demo/queue"

if [ -d /usr/include ]; then
	find /usr/include -name '*.h' -type f
else
	find . -type f -size -64k ! -path './obj/*' ! -path './.git/*'
fi | head -n 1500 >"$demo/big"
find src/* -name '*.[ch]' | head -n 20 >"$demo/late"
big=$(grep -c . "$demo/big")
late=$(grep -c . "$demo/late")
arrival=$((big / 10 + 1))
tr '\n' '\0' <"$demo/big" | xargs -0 cat >/dev/null # so that the first of the two ways does not wait for the disk

# Seconds, as exactly as date has them.
now() {
	t=$(date +%s.%N)
	case $t in
	*N*) date +%s ;;
	*) say "$t" ;;
	esac
}
since() { awk "BEGIN { printf \"%.2f s\", $2 - $1 }"; }

# Reads the names of the files as their jobs end. When it is time, sends the late list to descriptor 3. Says at which
# position, and how long after that time, the last late job ended.
follow() {
	ended=0 last=0 arrived=0 last_at=0
	while read -r file; do
		ended=$((ended + 1))
		if [ "$ended" = "$arrival" ]; then
			arrived=$(now)
			cat "$demo/late" >&3
			exec 3>&-
		fi
		case $file in
		src/*) last=$ended last_at=$(now) ;;
		esac
	done
	say "$last" "$(since "$arrived" "$last_at")"
}

# compress DIRECTORY ARGUMENT …: runs fairpar; what it prints are the names of the files, as their jobs end.
compress() {
	to=$1
	shift
	./fairpar -j2 "$@" "gzip -9c {} >$demo/$to/{#}.gz; echo {}" || echo "$?" >"$demo/failed"
}

say
say "A demonstration: compress $big files as the batch \"big\"; when $arrival are done, the batch \"late\" of $late arrives."
say

mkfifo "$demo/fifo"
start=$(now)
compress fair --batch big="$demo/big" --batch late="$demo/fifo" | follow 3<>"$demo/fifo" >"$demo/fair.result"
fair_time=$(since "$start" "$(now)")

start=$(now)
cat "$demo/big" "$demo/late" | compress queue | follow 3>/dev/null >"$demo/queue.result"
queue_time=$(since "$start" "$(now)")

[ ! -e "$demo/failed" ] || die "fairpar ended with status $(cat "$demo/failed")"
for way in fair queue; do
	[ "$(find "$demo/$way" -name '*.gz' | wc -l)" = $((big + late)) ] || die "not every file has been compressed"
	find "$demo/$way" -name '*.gz' -exec gzip -t {} + || die "a compressed file is broken"
done

read -r fair_last fair_after <"$demo/fair.result"
read -r queue_last queue_after <"$demo/queue.result"
row() { printf '%-34s %-22s %s\n' "$@"; }
row '' 'fairpar, two batches' 'first in, first out'
row '"late" was complete at job' "$fair_last of $((big + late))" "$queue_last of $((big + late))"
row '... and after it arrived, in' "$fair_after" "$queue_after"
row 'all of it took' "$fair_time" "$queue_time"
say
say "Next: make check                         every test; the last line counts them"
say "      make install PREFIX=~/.local       or any other place; the default is /usr/local"
