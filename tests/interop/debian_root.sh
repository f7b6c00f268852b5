#!/usr/bin/env bash
# Makes a Debian root of any architecture without running anything of it:
#   tests/interop/debian_root.sh ARCHITECTURE DIR PACKAGE…
# DIR/root holds the essential packages, these and what they depend on, from the archives that this machine uses. They
# are unpacked as dpkg would, and its database says so: `dpkg --configure -a` on a machine of that architecture does the
# rest. DIR/kernel is Debian's kernel of backports with its modules: an arm64 kernel traps the counter from 6.12 on.
# Nothing is done when both were made from the same list.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

architecture=$1 dir=$(realpath -m "$2")
shift 2
root=$dir/root kernel=$dir/kernel
recipe="$architecture $* $(sha256sum <"$0")"
[[ "$(cat "$dir/recipe" 2>/dev/null)" == "$recipe" ]] && exit 0
rm -rf "$root" "$kernel" "$dir/recipe" "$dir/archives"
mkdir -p "$dir"/{lists,archives}/partial "$root" "$kernel"

# apt-get with a state of its own: this machine's packages, sources and list of architectures are left alone.
: >"$dir/no-packages"
backports=$(. /etc/os-release && echo "$VERSION_CODENAME-backports")
{
  cat /etc/apt/sources.list 2>/dev/null || true
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $backports main"
} >"$dir/sources.list"
options=(-q -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
  -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::State::Lists="$dir/lists"
  -o Dir::State::status="$dir/no-packages" -o Dir::Cache::Archives="$dir/archives" -o Dir::Cache::pkgcache=
  -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o APT::Install-Recommends=false)
download() {
  apt-get "${options[@]}" update &&
  apt-get "${options[@]}" --download-only -y install '?essential' usr-is-merged "$@" &&
  image=$(apt-cache "${options[@]}" -o APT::Default-Release="$backports" depends "linux-image-$architecture" |
    sed -n 's/ *Depends: \(linux-image-[0-9].*\)/\1/p') &&
  cd "$kernel" && apt-get "${options[@]}" download "$image"
}
(download "$@") >"$dir/apt.log" 2>&1 || { tail "$dir/apt.log" >&2; exit 1; }
dpkg-deb -x "$kernel"/*.deb "$kernel"
rm "$kernel"/*.deb
depmod -b "$kernel" "$(ls "$kernel/lib/modules")"

mkdir -p "$root/etc"
for name in bin sbin lib lib32 lib64 libx32; do
  mkdir -p "$root/usr/$name"
  ln -s "usr/$name" "$root/$name"
done
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
database=$root/var/lib/dpkg
mkdir -p "$database"/{info,updates,triggers,alternatives,parts}
echo "$architecture" >"$database/arch"
echo 1 >"$database/info/format"
touch "$database"/{available,diversions,statoverride}
for package in "$dir"/archives/*.deb; do
  name=$(dpkg-deb -f "$package" Package)
  [[ "$(dpkg-deb -f "$package" Multi-Arch)" == same ]] && name+=:$architecture
  dpkg-deb --fsys-tarfile "$package" | tar -xv -C "$root" --keep-directory-symlink |
    sed 's/^\.//; s/\/$//; s/^$/\/./' >"$database/info/$name.list"
  dpkg-deb -e "$package" "$dir/control"
  {
    sed '/^Package:/a Status: install ok unpacked' "$dir/control/control"
    [[ ! -s $dir/control/conffiles ]] || { echo Conffiles:; sed -n 's/^\/.*/ & newconffile/p' "$dir/control/conffiles"; }
    echo
  } >>"$database/status"
  rm "$dir/control/control"
  for part in "$dir"/control/*; do [[ ! -e $part ]] || mv "$part" "$database/info/$name.${part##*/}"; done
  rmdir "$dir/control"
done
rm -r "$dir/archives" "$dir/lists"
echo "$recipe" >"$dir/recipe"
