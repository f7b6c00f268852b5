#!/usr/bin/env bash
# The other architecture (make other-arch): compiles the project for it, boots Debian of it in QEMU's emulation, and runs
# the tests of what is loaded into unmodified programs there.
#   tests/interop/other_arch.sh [TEST_PROGRAM…]
# amd64 on an arm64 machine, arm64 on any other. Root, kernel and objects stay in build-other/ARCHITECTURE.
# Ends with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh
PATH=$PATH:/usr/sbin:/sbin

tests=(preload_test verbs_test symbols_test live_test programs_test cm_programs_test program_workload_test ucx_mpi_test)
(($# == 0)) || tests=("$@")
slowdown=10  # at least, of emulation against the machine itself: tests wait that much longer

case $other_architecture in
  amd64) processor=x86_64 machine=(qemu-system-x86_64 -M q35 -cpu max) console=ttyS0 ;;
  arm64) processor=aarch64 machine=(qemu-system-aarch64 -M virt -cpu max) console=ttyAMA0 ;;
esac
dir=$PWD/build-other/$other_architecture
root=$dir/root
build=$dir/build
mkdir -p "$dir"

# --- The machine. Its first disk is the root, its second one the project, whose script `guest` it runs.

# image FILE FOLDER SIZE
image() {
  rm -f "$1"
  mke2fs -q -t ext4 -d "$2" "$1" "$3" >/dev/null
}

make_initramfs() {
  local files=$dir/initramfs.d module
  rm -rf "$files"
  mkdir -p "$files"/{bin,dev,proc,root}
  cp "$root/bin/busybox" "$files/bin/"
  modprobe -d "$dir/kernel" -S "$(ls "$dir/kernel/lib/modules")" -a --show-depends virtio_pci virtio_blk ext4 |
    sed -n 's/^insmod //p' | awk '!seen[$1]++ {print $1}' | while read -r module; do
      cp "$module" "$files/"
      [[ $module != *.xz ]] || unxz "$files/${module##*/}"
      module=${module%.xz}
      echo "insmod /${module##*/}"
    done >"$files/modules"
  cat >"$files/init" <<INIT
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
. /modules
mount -t proc proc /proc
mount -t devtmpfs dev /dev
mount -t ext4 /dev/vda /root
mkdir -p "/root$PWD"
mount -t ext4 /dev/vdb "/root$PWD"
mount -t proc proc /root/proc
mount -t sysfs sys /root/sys
mount -t devtmpfs dev /root/dev
mkdir -p /root/dev/shm /root/dev/pts
mount -t tmpfs shm /root/dev/shm
mount -t devpts pts /root/dev/pts
ip link set lo up
hostname localhost
chroot /root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh -c 'cd "$PWD" && exec bash guest' \
  >/dev/$console 2>&1
umount "/root$PWD"
mount -o remount,ro /root
poweroff -f
INIT
  chmod +x "$files/init"
  (cd "$files" && find . | busybox cpio -o -H newc 2>/dev/null) >"$dir/initramfs"
  rm -rf "$files"
}

# boot PROJECT_FOLDER DISK_OPTION…: what the machine says goes to stdout.
boot() {
  image "$dir/project.img" "$1" 1G
  "${machine[@]}" -m 3072 -smp 2 -kernel "$dir"/kernel/boot/vmlinuz-* -initrd "$dir/initramfs" \
    -append "console=$console quiet panic=-1" -display none -monitor none -serial stdio -no-reboot -nic none \
    -drive "file=$dir/root.img,format=raw,if=none,id=root,cache=unsafe,$2" -device virtio-blk-pci,drive=root \
    -drive "file=$dir/project.img,format=raw,if=none,id=project,cache=unsafe" -device virtio-blk-pci,drive=project \
    </dev/null | sed -u 's/\r$//'
}

# --- The root: the compiler's sysroot, and where the tests run. The machine itself configures its packages, once.

say "== Debian $other_architecture"
tests/interop/debian_root.sh "$other_architecture" "$dir" busybox-static "${packages_to_build[@]}" \
  "${packages_to_test[@]}"
project=$dir/project
rm -rf "$project"
mkdir -p "$project"
make_initramfs
if [[ ! $dir/root.img -nt $dir/recipe ]]; then
  say "== configuring its packages"
  image "$dir/root.img" "$root" 5G
  cat >"$project/guest" <<'GUEST'
export DEBIAN_FRONTEND=noninteractive
dpkg --configure --force-depends base-passwd && dpkg --configure -a && echo "@@ configured"
GUEST
  boot "$project" snapshot=off >"$dir/configure.log"
  grep -q '^@@ configured' "$dir/configure.log" ||
    { rm "$dir/root.img"; die "the packages could not be configured: see $dir/configure.log"; }
fi

# --- The build, and the tests, each in a process of its own.

say "== building"
find_in_root=(-DCMAKE_FIND_ROOT_PATH_MODE_{LIBRARY,INCLUDE,PACKAGE}=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER)
configure release "$build" -B "$build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$processor \
  -DCMAKE_CXX_COMPILER=$processor-linux-gnu-g++ -DCMAKE_SYSROOT="$root" "${find_in_root[@]}" \
  -DWEFT_LTO=OFF -DWEFT_TESTS=ON -DWEFT_BENCH=OFF -DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST
build "$build" "${tests[@]}"

say "== testing"
tar -c --exclude='./build*' --exclude=./.git --exclude=./runs . | tar -x -C "$project"
mkdir -p "$project/${build#"$PWD"/}"
find "$build" -maxdepth 1 -type f -executable -exec cp -t "$project/${build#"$PWD"/}" {} +
cp -a "$build/lib" "$project/${build#"$PWD"/}/"
cat >"$project/guest" <<GUEST
export WEFT_TEST_SLOWDOWN=$slowdown
passed=0 failed=0
for program in ${tests[*]}; do
  for name in \$($build/\$program --gtest_list_tests | sed 's/ *#.*//' | awk '/^[^ ].*\.\$/ {suite = \$1; next} /^  / {print suite \$1}'); do
    started=\$SECONDS status=0
    timeout $((180 * slowdown)) $build/\$program --gtest_filter="\$name" >/tmp/log 2>&1 </dev/null || status=\$?
    if ((status == 0)) && grep -q '^\[  SKIPPED' /tmp/log && ! grep -qF "\$name" docs/LIMITS.md; then status=skipped; fi
    if [[ \$status == 0 ]]; then
      passed=\$((passed + 1))
      echo "   ok \$name (\$((SECONDS - started)) s)"
    else
      failed=\$((failed + 1))
      tail -n 60 /tmp/log
      echo "   FAILED \$name: \$status (\$((SECONDS - started)) s)"
    fi
  done
done
echo "\$passed passed, \$failed failed"
GUEST
boot "$project" snapshot=on | tee "$dir/test.log"
rm -rf "$project"
grep -q '^[1-9][0-9]* passed, 0 failed$' "$dir/test.log"
