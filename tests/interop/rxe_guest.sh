#!/usr/bin/env bash
# Makes a virtual machine that is Debian's kernel with Soft-RoCE (rdma_rxe) and the programs that talk to it:
#   tests/interop/rxe_guest.sh DIR [PROGRAM…]
# DIR/vmlinuz, DIR/initramfs with these programs too, and DIR/about, unless they are there and newer than the programs.
# The kernel comes with apt-get download and is unpacked, not installed. In the machine, the interface with the MAC
# address 52:54:00:00:00:09 is the fabric (10.0.0.9, RoCE MTU 4096 B), the other one QEMU's user network; commands come
# in by the serial line, one per line, and each ends with a line "@@NUMBER STATUS".
set -euo pipefail

dir=$1
shift
fresh=true
for program in "$0" "$@"; do [[ $dir/initramfs -nt $program ]] || fresh=false; done
$fresh && exit 0
architecture=$(dpkg --print-architecture)
case $architecture in
  arm64) transport=virtio_mmio console=ttyAMA0 ;;
  amd64) transport=virtio_pci console=ttyS0 ;;
  *) echo "no recipe for a kernel of $architecture" >&2; exit 1 ;;
esac

# In the order in which they need each other; those that this kernel has built in are skipped.
modules=(virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev "$transport" failover net_failover virtio_net
  configfs udp_tunnel ip6_udp_tunnel crc32_generic ib_core ib_uverbs rdma_rxe ib_cm iw_cm rdma_cm rdma_ucm)
programs=(ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ib_write_bw ib_write_lat
  ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat rping ucmatose rdma)

root=$dir/root
rm -rf "$root" "$dir/kernel"
mkdir -p "$dir/kernel" "$root"/{bin,dev,proc,sys,tmp,etc/libibverbs.d,lib/modules}
package=$(apt-cache depends "linux-image-$architecture" | sed -n 's/ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
(cd "$dir" && rm -f linux-image-*.deb && apt-get -q download "$package" >/dev/null 2>&1) ||
  { echo "cannot download $package" >&2; exit 1; }
dpkg-deb -x "$dir"/linux-image-*.deb "$dir/kernel"
for module in "${modules[@]}"; do
  file=$(find "$dir/kernel/lib/modules" -name "$module.ko" | head -1)
  if [[ -n $file ]]; then
    cp "$file" "$root/lib/modules/"
    echo "$module" >>"$root/etc/modules"
  fi
done

cp /bin/busybox "$root/bin/busybox"
for applet in $(busybox --list | grep -vx busybox); do ln -sf busybox "$root/bin/$applet"; done
# A program and the libraries that it needs, where it looks for them.
add() {
  local library
  for library in $(ldd "$1" | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp -Lu "$library" "$root$library"
  done
}
for program in "${programs[@]}" "$@"; do
  file=$(command -v "$program") || { echo "$program is not installed" >&2; exit 1; }
  cp -L "$file" "$root/bin/"
  add "$file"
done
rxe=$(find /usr/lib -name 'librxe-rdmav*.so' | head -1)
mkdir -p "$root$(dirname "$rxe")"
cp -L "$rxe" "$root$rxe"
add "$rxe"
library_dir=$(dirname "$(dirname "$rxe")")
cp -L "$library_dir/libgcc_s.so.1" "$root$library_dir/" 2>/dev/null || cp -L "/lib/${library_dir##*/}/libgcc_s.so.1" \
  "$root$library_dir/"  # pthread_exit loads it by name
echo "driver rxe" >"$root/etc/libibverbs.d/rxe.driver"
printf 'root:x:0:0::/:/bin/sh\n' >"$root/etc/passwd"

cat >"$root/init" <<INIT
#!/bin/sh
export PATH=/bin
mount -t devtmpfs dev /dev 2>/dev/null
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/shm && mount -t tmpfs shm /dev/shm
echo 1 >/proc/sys/kernel/printk
while read module; do insmod /lib/modules/\$module.ko; done </etc/modules
ip link set lo up
for path in /sys/class/net/eth*; do
  name=\${path##*/}
  if [ "\$(cat \$path/address)" = 52:54:00:00:00:09 ]; then
    ip link set \$name mtu 4200
    ip addr add 10.0.0.9/24 dev \$name
    ip link set \$name up
    rdma link add rxe0 type rxe netdev \$name
  else
    ip addr add 10.0.2.15/24 dev \$name
    ip link set \$name up
  fi
done
exec </dev/$console >/dev/$console 2>&1
stty -echo -onlcr
echo "@@0 0"
n=0
while read -r line; do
  n=\$((n + 1))
  eval "\$line"
  echo "@@\$n \$?"
done
poweroff -f
INIT
chmod +x "$root/init"
cp "$dir"/kernel/boot/vmlinuz-* "$dir/vmlinuz"
(cd "$dir/kernel/boot" && printf 'kernel %s\n' vmlinuz-* | sed 's/vmlinuz-//') >"$dir/about"
(cd "$root" && find . | busybox cpio -o -H newc) >"$dir/initramfs.part" 2>/dev/null
mv "$dir/initramfs.part" "$dir/initramfs"
rm -rf "$root" "$dir/kernel" "$dir"/linux-image-*.deb
