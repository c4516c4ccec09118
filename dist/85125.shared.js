const w={85125:((_,s,n)=>{n.d(s,{AA:()=>$,B1:()=>d,E1:()=>h,HC:()=>l,I8:()=>u,KF:()=>f,N6:()=>b,VQ:()=>i,Zw:()=>p,dF:()=>r,fD:()=>x,fz:()=>c,hM:()=>a,nk:()=>m,qZ:()=>e,sm:()=>v});var o=n(45081);const e="ralph-room-",d=`
set -eu
umask 077
owner=$1 sandbox=$2 reservations=$3; shift 3
# In a container, root may lack the right to change the user.
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs true
# A lock keeps two runs from taking the same released id; without a lock, a released id stays reserved until a reboot.
isLocked=
exec 9< "$reservations"
if command -v flock > /dev/null && flock -w 10 9; then isLocked=yes; fi
for uid; do
  link="$reservations/${e}$uid"
  if [ -n "$isLocked" ] && [ -L "$link" ] && [ ! -e "$link" ]; then rm -f "$link"; fi
  if [ ! -e "$link" ] && ln -sn "$sandbox" "$link" 2> /dev/null; then break; fi
  uid=
done
exec 9<&-
[ -n "$uid" ] || { echo 'no user id is free' >&2; exit 1; }
mkdir "$sandbox/home" "$sandbox/session" "$sandbox/inbox" "$sandbox/trees" "$sandbox/root" "$sandbox/stage"
chown "$uid:$uid" "$sandbox/home"
chown "$owner:$uid" "$sandbox" "$sandbox/session" "$sandbox/inbox" "$sandbox/trees"
chmod 0750 "$sandbox"
chmod 2750 "$sandbox/inbox" "$sandbox/trees"
chmod 0700 "$sandbox/home" "$sandbox/session" "$sandbox/root" "$sandbox/stage"
echo "$uid"
`,$=`
ln -sn "$2" "$3/${e}$1"
`,i=`
set -eu
umask 022
uid=$1 fstab=$2 root=$3 stage=$4 unshare=$5 runner=$6 taken=$7 count=$8; shift 8
# The /proc here still belongs to the machine, so this is the process id that others see.
read -r pid rest < /proc/self/stat
ip link set lo up
mount -t tmpfs -o mode=700,nosuid,nodev ralph "$stage"
mkdir "$stage/empty"
number=0
while [ $number -lt "$count" ]; do mkdir "$stage/$number"; number=$((number + 1)); done
number=0 open= mapped=
! command -v perl > /dev/null || 
  mapped=$(perl -e '
my ($uid, $stage, $unshare, $runner, $taken, $count, @paths) = @ARGV;
my @asked;
sub space {
  my ($owners) = @_;
  pipe(my $ask, my $asked) && pipe(my $said, my $say) or exit 1;
  push @asked, $asked;
  if (!fork) {
    close $_ for @asked;
    # CLONE_NEWUSER. The process id comes from the /proc that is mounted here.
    syswrite($say, readlink("/proc/self") . "\\n") if syscall($unshare + 0, 0x10000000) == 0;
    close $say;
    readline $ask;
    exit 0;
  }
  close $say;
  my $pid = readline $said or exit 1;
  chomp $pid;
  for (["uid_map", $owners], ["gid_map", "$uid $uid 1"]) {
    open my $map, ">", "/proc/$pid/$_->[0]" or exit 1;
    syswrite $map, $_->[1] or exit 1;
  }
  open my $space, "<", "/proc/$pid/ns/user" or exit 1;
  return pack("Q4", 0x00100000, 0, 0, fileno($space)), $space;
}
# Maps the runner to the user of the sandbox, and all other ids to themselves.
my ($low, $high) = sort { $a <=> $b } $runner, $uid;
my @others = ([0, $low], [$low + 1, $high - $low - 1], [$high + 1, 4294967294 - $high]);
my $swapped = join "\\n", "$runner $uid 1", map { "$_->[0] $_->[0] $_->[1]" } grep { $_->[1] > 0 } @others;
my ($plain, $plainSpace) = space("0 0 4294967295");
my ($own, $ownSpace) = space($swapped);
my $here = "";
for my $number (0 .. $count - 1) {
  my ($path, $place) = ($paths[$number], "$stage/$number");
  my $attributes = ",$taken," =~ /,$number,/ ? $own : $plain;
  # open_tree, mount_setattr and move_mount, whose numbers are the same on all processors.
  my $tree = syscall(428, -100, $path, 0x80001);
  next if $tree < 0 || syscall(442, $tree, $here, 0x1000, $attributes, 32) != 0;
  print "$number " if syscall(429, $tree, $here, -100, $place, 4) == 0;
}
' "$uid" "$stage" "$unshare" "$runner" "$taken" "$count" "$@" 2> /dev/null) || :
while [ $number -lt "$count" ]; do
  case " $mapped" in
    *" $number "*) ;;
    # Seen through an overlay mount, a socket is not the one on which its daemon listens.
    *) kind=other
      mount -t overlay -o "ro,lowerdir=$stage/empty:$1" ralph "$stage/$number" 2> /dev/null ||
        { mount --bind -- "$1" "$stage/$number"; kind=open; }
      open="$open
$kind $1" ;;
  esac
  number=$((number + 1)); shift
done
mount -t tmpfs -o mode=755,nosuid ralph "$root"
while [ $# -gt 1 ]; do ln -s -- "$2" "$1"; shift 2; done
mount -a -T "$fstab"
mkdir -p "$root/proc" "$root/dev/pts"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
for device in null zero full random urandom tty; do
  cp -a "/dev/$device" "$root/dev/"
  chmod 666 "$root/dev/$device"
done
mount -t devpts -o newinstance,nosuid,noexec,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/\${n%%:*}" "$root/dev/\${n#*:}"; done
echo "$uid" > "$root/run/ralph-sandbox"
chmod 644 "$root/run/ralph-sandbox"
cd "$root"
pivot_root . .
umount -l .
cd /
mount -o remount,ro /
mount -o remount,ro /run
echo "$pid$open"
while read -r line; do :; done
`,r=`
set -eu
mount --no-mtab --bind -- "$1" "$2"
shift 2
exec "$@"
`,a=`
set -eu
from=$1 to=$2 top=$3 path=$4
[ -e "$path" ] || exit 0
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,l=`
find "$1" -xdev '(' -type d ! -perm -u=rwx -o -type f ! -perm -u=rw ')' -exec chmod u+rwX -- {} +
`,t=`
left=$#
while [ $left -gt 0 ]; do
  set -- "$@" -path "$1" -prune -o
  shift
  left=$((left - 1))
done
for folder in /tmp /var/tmp /dev/shm /dev/mqueue; do
  [ -d "$folder" ] && find "$folder" -xdev -mindepth 1 "$@" -user "$uid" -prune -exec rm -rf -- {} + 2> /dev/null
done
# IPC objects outlive the processes of the user. The columns are found by their names in the header.
for kind in shm:-m msg:-q sem:-s; do
  awk -v uid="$uid" 'NR == 1 { for (n = 1; n <= NF; n++) at[$n] = n; next } $at["uid"] == uid || $at["cuid"] == uid { print $2 }'     "/proc/sysvipc/\${kind%%:*}" 2> /dev/null | while read -r id; do ipcrm "\${kind#*:}" "$id" 2> /dev/null; done
done
`,u=`
uid=$1 home=$2; shift 2
${t}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,p=`
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,m=`
for pid; do kill -KILL "$pid" 2> /dev/null; done
:
`,h=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs test -x "$path" && continue
  command -v setfacl > /dev/null || { echo "$path is closed to other users, and setfacl is not installed" >&2; exit 1; }
  kind=$(getfacl -cnp -- "$path" | awk -F: '
    $1 == "user" && $2 >= ${o.Cj.first} && $2 <= ${o.Cj.last} { isOfSandboxes = 1; next }
    $1 == "mask" { hasMask = 1; next }
    $1 != "default" && $2 != "" { isListed = 1 }
    END { print (isListed || hasMask && !isOfSandboxes) ? "listed" : "plain" }')
  setfacl -m "u:$uid:--x" -- "$path"
  echo "$kind $path"
done
`,c=`
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs test -r "$path" || echo "$path"
done
`,f=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,b=`
set -eu
uid=$1 ports=$2 accept=
[ -z "$ports" ] || accept="meta skuid $uid ip daddr 127.0.0.1 tcp dport { $ports } accept"
if command -v nft > /dev/null && nft list tables > /dev/null 2>&1; then
  if nft -f - << RULES
table inet ralph_$uid
delete table inet ralph_$uid
table inet ralph_$uid {
  chain out {
    type filter hook output priority 0; policy accept;
    $accept
    meta skuid $uid reject with icmpx type admin-prohibited
  }
}
RULES
  then
    echo nft
    exit 0
  fi
fi
for tables in iptables ip6tables; do
  command -v "$tables" > /dev/null || exit 3
  "$tables" -w 5 -N "RALPH_$uid" 2> /dev/null || "$tables" -w 5 -F "RALPH_$uid" 2> /dev/null || exit 3
  [ "$tables" = ip6tables ] || [ -z "$ports" ] ||
    "$tables" -w 5 -A "RALPH_$uid" -d 127.0.0.1 -p tcp -m multiport --dports "$(echo "$ports" | tr -d ' ')" -j ACCEPT
  "$tables" -w 5 -A "RALPH_$uid" -j REJECT
  "$tables" -w 5 -C OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid" 2> /dev/null ||
    "$tables" -w 5 -I OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid"
done
echo iptables
`,v=`
uid=$1; shift
entries() { getfacl -cnp -- "$1" 2> /dev/null; }
while [ $# -gt 1 ]; do
  kind=$1 path=$2; shift 2
  [ -e "$path" ] || continue
  setfacl -x "u:$uid" -- "$path" 2> /dev/null
  if entries "$path" | grep -q "^user:$uid:"; then
    echo "the entry of user $uid in the access list of $path (setfacl -x u:$uid $path)"
  elif [ "$kind" = plain ] && ! entries "$path" | grep -Eqv '^(user::|group::|other::|mask::|default:|$)'; then
    setfacl -x m -- "$path" 2> /dev/null
  fi
done
:
`,x=`
reservations=$1 uid=$2 name=$3 remains=$4 sandbox=$5 session=$6; shift 6
left() { remains=yes; echo "$1"; }
if command -v nft > /dev/null; then
  nft delete table inet "ralph_$uid" 2> /dev/null
  ! nft list table inet "ralph_$uid" > /dev/null 2>&1 ||
    left "the firewall table inet ralph_$uid (nft delete table inet ralph_$uid)"
fi
for tables in iptables ip6tables; do
  command -v "$tables" > /dev/null || continue
  "$tables" -w 5 -D OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -F "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -X "RALPH_$uid" 2> /dev/null
  ! "$tables" -w 5 -n -L "RALPH_$uid" > /dev/null 2>&1 ||
    left "the chain RALPH_$uid ($tables -D OUTPUT -m owner --uid-owner $uid -j RALPH_$uid; $tables -F RALPH_$uid; $tables -X RALPH_$uid)"
done
${t}
if [ -n "$name" ]; then
  userdel "$name" > /dev/null 2>&1
  ! grep -q "^$name:" /etc/group || groupdel "$name" > /dev/null 2>&1
  ! grep -q "^$name:" /etc/passwd || left "the user $name (userdel $name)"
  ! grep -q "^$name:" /etc/group || left "the group $name (groupdel $name)"
fi
if [ -n "$session" ] && [ -n "$(ls -A "$sandbox/session" 2> /dev/null)" ] && [ ! -e "$session" ]; then
  mv -- "$sandbox/session" "$session"
fi
# Earlier versions call the record room.json.
[ ! -e "$sandbox" ] ||
  find "$sandbox" -mindepth 1 -maxdepth 1 ! -name sandbox-record.json ! -name room.json -exec rm -rf -- {} + 2> /dev/null
[ -z "$(ls -A "$sandbox" 2> /dev/null | grep -vx -e sandbox-record.json -e room.json)" ] || left "the folder $sandbox (rm -rf $sandbox)"
[ -z "$remains" ] || exit 0
rm -rf -- "$sandbox" 2> /dev/null
[ ! -e "$sandbox" ] || left "the folder $sandbox (rm -rf $sandbox)"
[ -z "$remains" ] || exit 0
link="$reservations/${e}$uid"
exec 9< "$reservations"
! command -v flock > /dev/null || flock -w 10 9 || :
isHeld() { if [ -L "$link" ]; then [ "$(readlink "$link")" = "$sandbox" ]; else [ -d "$link" ]; fi; }
! isHeld || rm -df -- "$link" 2> /dev/null
! isHeld || left "the reservation $link (rm -d $link)"
:
`})};export{w as modules};
