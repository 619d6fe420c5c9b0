#!/bin/sh
# The first process of a node, in namespaces of its own: gives the node its own disk, then reaps orphans.
# boot.sh DIRECTORY HOSTNAME PROGRAM: the node's directory, its name, and the program that then runs as process 1.
set -eu
node=$1 name=$2 program=$3

# Mounts do not propagate to the host; inside, mounts of the kubelet propagate to containerd.
mount --make-rprivate /
mount --make-rshared /

mount -t tmpfs tmpfs /run
mount --bind "$node/lib" /var/lib
mount --bind "$node/log" /var/log
mount -o loop "$node/state.ext4" /var/lib/kcover
[ ! -e /etc/machine-id ] || mount --bind "$node/lib/dbus/machine-id" /etc/machine-id
mount --bind "$node/boot-id" /proc/sys/kernel/random/boot_id

# The kubelet writes these settings; they belong to the host, so it gets files instead.
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  file="$node/sysctl/$(echo "$setting" | tr / .)"
  [ -e "$file" ] || cat "/proc/sys/$setting" >"$file"
  mount --bind "$file" "/proc/sys/$setting"
done

hostname "$name"
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
: >"$node/booted"
exec "$program"
