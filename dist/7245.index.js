const T=7245,I=[7245,4196],U={79439:((L,g,u)=>{u.d(g,{BI:()=>A,LS:()=>x,_c:()=>$,hg:()=>a,zI:()=>v});var e=u(13798),k=u(42934);const m=e.aig().int().nonnegative(),p=e.YjP().startsWith("/").max(4096),n=e.YjP().min(1).max(100),$={first:60706,last:61183},c=m.min($.first).max($.last),f=e.rej({pid:m,started:n,namespace:n,boot:n,parent:e.rej({pid:m,started:n}).nullable().default(null)}),h={folder:p.regex(/\/ralph-room-[A-Za-z0-9]{8}$/),userName:e.YjP().regex(/^(ralph-\d+)?$/),given:e.YOg(e.rej({path:p,uid:m,gid:m,all:e.euz(!0).optional()})).max(20),closed:e.YOg(e.rej({path:p,mode:e.aig().int().min(0).max(4095)})).max(10)},_=e.rej({version:e.euz(2),...h,uid:c.nullable(),opened:e.YOg(e.rej({path:p,isPlain:e.zMY()})).max(100),run:e.rej({folder:p,process:f}).nullable(),isLeaving:e.zMY()}),w=e.rej({version:e.euz(1),...h,uid:c,opened:e.YOg(p).max(100)}).transform(({opened:l,...s})=>({...s,version:2,opened:l.map(d=>({path:d,isPlain:!1})),run:null,isLeaving:!1})),x=e.KCZ([_,w]),E=k.sO;function v({run:l},s){if(l===null)return!1;const{boot:d,namespace:P,pid:r,started:o,parent:i}=l.process;return d!==s.boot?!0:P!==s.namespace||o===s.started(r)?!1:i!==null&&i.started!==s.started(i.pid)||!s.hasRecord||s.ageMs>E}function A(l,s){return s.flatMap(({closed:d})=>d).find(d=>d.path===l)?.mode??null}function a(l,s){return A(l,s.filter(({isLeaving:d})=>!d))!==null}}),14105:((L,g,u)=>{u.d(g,{$:()=>l,s:()=>p});const e=[425,426,427],k={x64:[{arch:3221225534,keys:[248,249,250],sockets:[41,53],unseen:e,otherAbi:1073741824},{arch:1073741827,keys:[286,287,288],sockets:[359,360],unseen:[102,...e],otherAbi:null}],arm64:[{arch:3221225655,keys:[217,218,219],sockets:[198,199],unseen:e,otherAbi:null},{arch:1073741864,keys:[309,310,311],sockets:[281,288],unseen:[102,...e],otherAbi:null}]},m={x64:{close:3,prctl:157,unshare:272},arm64:{close:57,prctl:167,unshare:97}};function p(r){const[o]=k[r]??[],i=m[r];if(o===void 0||i===void 0)return null;const[t=0,b=0,y=0]=o.keys;return{...i,addKey:t,requestKey:b,keyctl:y,socket:o.sockets[0]??0,ioUringSetup:e[0]}}const n=[1,2,10,16],$=1,c=38,f=97,h=2147418112,_=2147483648,w=r=>327680+r,x={number:0,arch:4,firstArgument:16},E=32,v=21,A=53,a=6;function l(r){const o=k[r];if(o===void 0)return null;const i=[{code:E,value:x.arch},...o.map(({arch:t})=>({code:v,value:t,to:String(t)})),{code:a,value:_},...o.flatMap(s),{label:"family"},{code:E,value:x.firstArgument},...n.map(t=>({code:v,value:t,to:"allow"})),{code:a,value:w(f)},{label:"key"},{code:a,value:w($)},{label:"unknown"},{code:v,value:4294967295,to:"allow"},{label:"unseen"},{code:a,value:w(c)},{label:"allow"},{code:a,value:h}];return d(i)}function s({arch:r,keys:o,sockets:i,unseen:t,otherAbi:b}){const y=(R,O)=>R.map(M=>({code:v,value:M,to:O}));return[{label:String(r)},{code:E,value:x.number},...b===null?[]:[{code:A,value:b,to:"unknown"}],...y(i,"family"),...y(o,"key"),...y(t,"unseen"),{code:a,value:h}]}function d(r){const o=new Map;let i=0;for(const t of r)"label"in t?o.set(t.label,i):i+=1;return r.filter(t=>!("label"in t)).map((t,b)=>P(t.code,t.value,"to"in t?(o.get(t.to)??0)-b-1:0)).join("")}function P(r,o,i){return[...[r,0,i,0,o%256,Math.floor(o/256)%256,Math.floor(o/65536)%256],Math.floor(o/2**24)].map(b=>b.toString(16).padStart(2,"0")).join("")}}),24196:((L,g,u)=>{u.r(g),u.d(g,{SYSTEM_PATH:()=>$,Unavailable:()=>n,findRoot:()=>w,withPath:()=>x});var e=u(73024),k=u(9277),m=u(74974),p=u(78326);class n extends Error{}const $="/usr/sbin:/usr/bin:/sbin:/bin",c=3e4,f=5e3,h=1e3,_=1024*1024;async function w(a){if(process.platform!=="linux")throw new n(`this works on Linux only, and this is ${process.platform}`);const[l=0,s=0]=[process.getuid?.(),process.getgid?.()],d={...a,PATH:$},P=l===0?[]:[v("sudo",d),"-n","--"],r=i=>{const[t,...b]=i,[y="",...R]=[...P,t.startsWith("/")?t:v(t,d),...b];return{file:y,args:R}};if(l!==0&&(await A(r(["true"]),f),!E()))throw new n("/proc hides other users' processes (hidepid)");const o=i=>v(i,d);return{owner:{uid:l,gid:s},program:o,command:r,run:(i,t,{way:b=[],timeoutMs:y=c}={})=>{const R=(0,m.trustedProgram)("timeout",d),O=R===null?[]:[R,"-s","KILL",String((y-h)/1e3)],[M="sh",...S]=[...O,...b,o("sh"),"-c",x(i),"ralph",...t];return A(r([M,...S]),y)}}}function x(a){return`PATH=${$}; export PATH
${a}`}function E(){try{return(0,e.readFileSync)("/proc/1/status","utf8")!==""}catch{return!1}}function v(a,l){const s=(0,m.trustedProgram)(a,l);if(s===null)throw new n(`\`${a}\` is not installed`);return s}async function A({file:a,args:l},s){const{end:d,stdout:P,stderr:r}=await(0,k.collectOutput)({file:a,args:l,cwd:"/",environment:{LC_ALL:"C",PATH:$},input:"",timeoutMs:s,family:{kind:"group",graceMs:0,leftover:"end"}},_);if(d.kind==="exited"&&d.code===0)return P.toString();const o=r.toString().trim().split(`
`).at(-1)??"";throw new n(o===""?`a program ${(0,k.describeCollected)(d)}`:(0,p.TN)(o,200))}}),6598:((L,g,u)=>{u.d(g,{Ex:()=>A,IZ:()=>k,Nc:()=>a,Nd:()=>l,XI:()=>x,aI:()=>_,bh:()=>w,k9:()=>n,lS:()=>m,op:()=>E,pF:()=>v,t2:()=>s,tV:()=>f,vs:()=>$,zl:()=>c});var e=u(79439);const k=`
set -eu
umask 077
owner=$1 room=$2 reservations=$3; shift 3
# Root of a container may not have the right to.
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs true
# What is free again must not be taken by two at once; without a lock it stays taken until the machine starts again.
isLocked=
exec 9< "$reservations"
if command -v flock > /dev/null && flock -w 10 9; then isLocked=yes; fi
for uid; do
  link="$reservations/ralph-room-$uid"
  if [ -n "$isLocked" ] && [ -L "$link" ] && [ ! -e "$link" ]; then rm -f "$link"; fi
  if [ ! -e "$link" ] && ln -sn "$room" "$link" 2> /dev/null; then break; fi
  uid=
done
exec 9<&-
[ -n "$uid" ] || { echo 'no user id is free' >&2; exit 1; }
mkdir "$room/home" "$room/session" "$room/inbox" "$room/trees" "$room/root" "$room/stage"
chown "$uid:$uid" "$room/home"
chown "$owner:$uid" "$room" "$room/session" "$room/inbox" "$room/trees"
chmod 0750 "$room"
chmod 2750 "$room/inbox" "$room/trees"
chmod 0700 "$room/home" "$room/session" "$room/root" "$room/stage"
echo "$uid"
`,m=`
ln -sn "$2" "$3/ralph-room-$1"
`,n=`
set -eu
umask 022
uid=$1 fstab=$2 root=$3 stage=$4 unshare=$5 runner=$6 taken=$7 count=$8; shift 8
# /proc is still the machine's, so this is the number by which others know this process.
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
    # NEWUSER. Its number is that of the /proc that is here.
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
# The runner below the room, and all others as they are.
my ($low, $high) = sort { $a <=> $b } $runner, $uid;
my @others = ([0, $low], [$low + 1, $high - $low - 1], [$high + 1, 4294967294 - $high]);
my $swapped = join "\\n", "$runner $uid 1", map { "$_->[0] $_->[0] $_->[1]" } grep { $_->[1] > 0 } @others;
my ($plain, $plainSpace) = space("0 0 4294967295");
my ($own, $ownSpace) = space($swapped);
my $here = "";
for my $number (0 .. $count - 1) {
  my ($path, $place) = ($paths[$number], "$stage/$number");
  my $attributes = ",$taken," =~ /,$number,/ ? $own : $plain;
  # open_tree, mount_setattr and move_mount, whose numbers are the same everywhere.
  my $tree = syscall(428, -100, $path, 0x80001);
  next if $tree < 0 || syscall(442, $tree, $here, 0x1000, $attributes, 32) != 0;
  print "$number " if syscall(429, $tree, $here, -100, $place, 4) == 0;
}
' "$uid" "$stage" "$unshare" "$runner" "$taken" "$count" "$@" 2> /dev/null) || :
while [ $number -lt "$count" ]; do
  case " $mapped" in
    *" $number "*) ;;
    # A socket below such a mount is another one than that of its daemon.
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
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty "$root/dev/"
mount -t devpts -o newinstance,nosuid,noexec,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/\${n%%:*}" "$root/dev/\${n#*:}"; done
echo "$uid" > "$root/run/ralph-room"
chmod 644 "$root/run/ralph-room"
cd "$root"
pivot_root . .
umount -l .
cd /
mount -o remount,ro /
mount -o remount,ro /run
echo "$pid$open"
while read -r line; do :; done
`,$=`
set -eu
mount --no-mtab --bind -- "$1" "$2"
shift 2
exec "$@"
`,c=`
set -eu
from=$1 to=$2 top=$3 path=$4
[ -e "$path" ] || exit 0
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,f=`
find "$1" -xdev '(' -type d ! -perm -u=rwx -o -type f ! -perm -u=rw ')' -exec chmod u+rwX -- {} +
`,h=`
left=$#
while [ $left -gt 0 ]; do
  set -- "$@" -path "$1" -prune -o
  shift
  left=$((left - 1))
done
for folder in /tmp /var/tmp /dev/shm /dev/mqueue; do
  [ -d "$folder" ] && find "$folder" -xdev -mindepth 1 "$@" -user "$uid" -prune -exec rm -rf -- {} + 2> /dev/null
done
# Objects that its processes share, by the columns that their list has: they outlive them.
for kind in shm:-m msg:-q sem:-s; do
  awk -v uid="$uid" 'NR == 1 { for (n = 1; n <= NF; n++) at[$n] = n; next } $at["uid"] == uid || $at["cuid"] == uid { print $2 }'     "/proc/sysvipc/\${kind%%:*}" 2> /dev/null | while read -r id; do ipcrm "\${kind#*:}" "$id" 2> /dev/null; done
done
`,_=`
uid=$1 home=$2; shift 2
${h}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,w=`
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,x=`
for pid; do kill -KILL "$pid" 2> /dev/null; done
:
`,E=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs test -x "$path" && continue
  command -v setfacl > /dev/null || { echo "$path is closed to other users, and setfacl is not installed" >&2; exit 1; }
  kind=$(getfacl -cnp -- "$path" | awk -F: '
    $1 == "user" && $2 >= ${e._c.first} && $2 <= ${e._c.last} { isOfRooms = 1; next }
    $1 == "mask" { hasMask = 1; next }
    $1 != "default" && $2 != "" { isListed = 1 }
    END { print (isListed || hasMask && !isOfRooms) ? "listed" : "plain" }')
  setfacl -m "u:$uid:--x" -- "$path"
  echo "$kind $path"
done
`,v=`
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs test -r "$path" || echo "$path"
done
`,A=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,a=`
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
`,l=`
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
`,s=`
reservations=$1 uid=$2 name=$3 remains=$4 room=$5 session=$6; shift 6
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
${h}
if [ -n "$name" ]; then
  userdel "$name" > /dev/null 2>&1
  ! grep -q "^$name:" /etc/group || groupdel "$name" > /dev/null 2>&1
  ! grep -q "^$name:" /etc/passwd || left "the user $name (userdel $name)"
  ! grep -q "^$name:" /etc/group || left "the group $name (groupdel $name)"
fi
if [ -n "$session" ] && [ -n "$(ls -A "$room/session" 2> /dev/null)" ] && [ ! -e "$session" ]; then
  mv -- "$room/session" "$session"
fi
[ ! -e "$room" ] || find "$room" -mindepth 1 -maxdepth 1 ! -name room.json -exec rm -rf -- {} + 2> /dev/null
[ -z "$(ls -A "$room" 2> /dev/null | grep -vx room.json)" ] || left "the folder $room (rm -rf $room)"
[ -z "$remains" ] || exit 0
rm -rf -- "$room" 2> /dev/null
[ ! -e "$room" ] || left "the folder $room (rm -rf $room)"
[ -z "$remains" ] || exit 0
link="$reservations/ralph-room-$uid"
exec 9< "$reservations"
! command -v flock > /dev/null || flock -w 10 9 || :
isHeld() { if [ -L "$link" ]; then [ "$(readlink "$link")" = "$room" ]; else [ -d "$link" ]; fi; }
! isHeld || rm -df -- "$link" 2> /dev/null
! isHeld || left "the reservation $link (rm -d $link)"
:
`}),9277:((L,g,u)=>{u.r(g),u.d(g,{collectOutput:()=>k,describeCollected:()=>m});var e=u(42841);async function k(n,$){const c=new AbortController,[f,h]=[p($,c),p($,c)],_=AbortSignal.any([c.signal,...n.signal==null?[]:[n.signal]]),w=await(0,e.mB)({...n,signal:_,outputs:[f.take,h.take]});return{end:c.signal.aborted?{kind:"too-much-output",maxBytes:$}:w,stdout:Buffer.concat(f.chunks),stderr:Buffer.concat(h.chunks)}}function m(n){return n.kind==="too-much-output"?`printed more than ${n.maxBytes/1024/1024} MiB`:(0,e.lA)(n)}function p(n,$){const c=[];let f=0;return{chunks:c,take:_=>{f+=_.length,f>n?$.abort():c.push(_)}}}})};export{T as id,I as ids,U as modules};
