const y=3685,I=[3685,4974,4025],D={79439:((L,b,d)=>{d.d(b,{BI:()=>T,LS:()=>R,_c:()=>h,hg:()=>m,zI:()=>k});var r=d(13798),f=d(42934);const v=r.aig().int().nonnegative(),_=r.YjP().startsWith("/").max(4096),u=r.YjP().min(1).max(100),h={first:60706,last:61183},$=v.min(h.first).max(h.last),E=r.rej({pid:v,started:u,namespace:u,boot:u}),w={folder:_.regex(/\/ralph-room-[A-Za-z0-9]{8}$/),userName:r.YjP().regex(/^(ralph-\d+)?$/),given:r.YOg(r.rej({path:_,uid:v,gid:v})).max(20),closed:r.YOg(r.rej({path:_,mode:r.aig().int().min(0).max(4095)})).max(10)},g=r.rej({version:r.euz(2),...w,uid:$.nullable(),opened:r.YOg(r.rej({path:_,isPlain:r.zMY()})).max(100),run:r.rej({folder:_,process:E}).nullable(),isLeaving:r.zMY()}),O=r.rej({version:r.euz(1),...w,uid:$,opened:r.YOg(_).max(100)}).transform(({opened:e,...s})=>({...s,version:2,opened:e.map(n=>({path:n,isPlain:!1})),run:null,isLeaving:!1})),R=r.KCZ([g,O]),M=f.sO;function k({run:e},s){if(e===null)return!1;const{boot:n,namespace:i,started:t}=e.process;return(n!==s.boot||i===s.namespace&&t!==s.started)&&(!s.hasRecord||s.ageMs>M)}function T(e,s){return s.flatMap(({closed:n})=>n).find(n=>n.path===e)?.mode??null}function m(e,s){return T(e,s.filter(({isLeaving:n})=>!n))!==null}}),24196:((L,b,d)=>{d.d(b,{$P:()=>u,iD:()=>R,sg:()=>h,wg:()=>O});var r=d(73024),f=d(9277),v=d(74974),_=d(78326);class u extends Error{}const h="/usr/sbin:/usr/bin:/sbin:/bin",$=3e4,E=5e3,w=1e3,g=1024*1024;async function O(m){if(process.platform!=="linux")throw new u(`this works on Linux only, and this is ${process.platform}`);const[e=0,s=0]=[process.getuid?.(),process.getgid?.()],n={...m,PATH:h},i=e===0?[]:[k("sudo",n),"-n","--"],t=c=>{const[l,...a]=c,[p="",...P]=[...i,l.startsWith("/")?l:k(l,n),...a];return{file:p,args:P}};if(e!==0&&(await T(t(["true"]),E),!M()))throw new u("/proc hides other users' processes (hidepid)");const o=c=>k(c,n);return{owner:{uid:e,gid:s},program:o,command:t,run:(c,l,{way:a=[],timeoutMs:p=$}={})=>{const P=(0,v.trustedProgram)("timeout",n),A=P===null?[]:[P,"-s","KILL",String((p-w)/1e3)],[x="sh",...S]=[...A,...a,o("sh"),"-c",R(c),"ralph",...l];return T(t([x,...S]),p)}}}function R(m){return`PATH=${h}; export PATH
${m}`}function M(){try{return(0,r.readFileSync)("/proc/1/status","utf8")!==""}catch{return!1}}function k(m,e){const s=(0,v.trustedProgram)(m,e);if(s===null)throw new u(`\`${m}\` is not installed`);return s}async function T({file:m,args:e},s){const{end:n,stdout:i,stderr:t}=await(0,f.collectOutput)({file:m,args:e,cwd:"/",environment:{LC_ALL:"C",PATH:h},input:"",timeoutMs:s,family:{kind:"group",graceMs:0,leftover:"end"}},g);if(n.kind==="exited"&&n.code===0)return i.toString();const o=t.toString().trim().split(`
`).at(-1)??"";throw new u(o===""?`a program ${(0,f.describeCollected)(n)}`:(0,_.TN)(o,200))}}),6598:((L,b,d)=>{d.d(b,{Ex:()=>k,IZ:()=>f,Nc:()=>T,Nd:()=>m,XI:()=>R,aI:()=>g,bh:()=>O,k9:()=>_,lS:()=>v,op:()=>M,t2:()=>e,tV:()=>E,vs:()=>u,zl:()=>$});var r=d(79439);const f=`
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
mkdir "$room/home" "$room/session" "$room/inbox" "$room/clones" "$room/root"
chown "$uid:$uid" "$room/home"
chown "$owner:$uid" "$room" "$room/session" "$room/inbox" "$room/clones"
chmod 0750 "$room"
chmod 2750 "$room/inbox" "$room/clones"
chmod 0700 "$room/home"
echo "$uid"
`,v=`
ln -sn "$2" "$3/ralph-room-$1"
`,_=`
set -eu
uid=$1 fstab=$2 root=$3; shift 3
# /proc is still the machine's, so this is the number by which others know this process.
read -r pid rest < /proc/self/stat
ip link set lo up
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
cd "$root"
pivot_root . .
umount -l .
cd /
mount -o remount,ro /
mount -o remount,ro /run
echo "$pid"
while read -r line; do :; done
`,u=`
set -eu
mount --no-mtab --bind -- "$1" "$2"
shift 2
exec "$@"
`,$=`
set -eu
from=$1 to=$2 top=$3 path=$4; shift 4
[ -e "$path" ] || exit 0
if [ $# -gt 0 ]; then (

[ -d "$path" ] && [ ! -L "$path" ] || exit 0
umask 077
cd -- "$path"
elsewhere=$(find . -type f -links +1 -user "$from" -exec stat -c '%d:%i %h' {} + |
  awk '{ seen[$1]++; names[$1] = $2 } END { for (file in seen) if (seen[file] < names[file]) print file }')
[ -n "$elsewhere" ] || exit 0
for place; do [ "$(stat -c %d -- "$place")" != "$(stat -c %d .)" ] || break; done
copies=$(mktemp -d "$place/.ralph-copies-XXXXXXXX")
export copies
trap 'rm -rf -- "$copies"' EXIT
mkdir "$copies/tree"
echo "$elsewhere" > "$copies/elsewhere"
# A name may hold what ends a line, so names and answers are kept apart; a file that is gone meanwhile ends this.
find . -type f -links +1 -user "$from" -exec sh -ec '
  stat -c %d:%i -- "$@" > "$copies/seen"
  awk "FNR == NR { known[\\$0] = 1; next } { print (\\$0 in known) }" "$copies/elsewhere" "$copies/seen" > "$copies/answers"
  exec 3< "$copies/answers"
  for file; do
    read -r isElsewhere <&3
    [ "$isElsewhere" = 0 ] || printf "%s\\0" "$file"
  done
' sh {} + > "$copies/names"
xargs -0 cp -a --reflink=auto --parents -t "$copies/tree" -- < "$copies/names"
find "$copies/tree" -mindepth 1 -maxdepth 1 -exec cp -alf -t . -- {} +

) fi
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,E=`
find "$1" -xdev '(' -type d ! -perm -u=rwx -o -type f ! -perm -u=rw ')' -exec chmod u+rwX -- {} +
`,w=`
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
`,g=`
uid=$1 home=$2; shift 2
${w}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,O=`
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,R=`
for pid; do kill -KILL "$pid" 2> /dev/null; done
:
`,M=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs test -x "$path" && continue
  command -v setfacl > /dev/null || { echo "$path is closed to other users, and setfacl is not installed" >&2; exit 1; }
  kind=$(getfacl -cnp -- "$path" | awk -F: '
    $1 == "user" && $2 >= ${r._c.first} && $2 <= ${r._c.last} { isOfRooms = 1; next }
    $1 == "mask" { hasMask = 1; next }
    $1 != "default" && $2 != "" { isListed = 1 }
    END { print (isListed || hasMask && !isOfRooms) ? "listed" : "plain" }')
  setfacl -m "u:$uid:--x" -- "$path"
  echo "$kind $path"
done
`,k=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,T=`
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
`,m=`
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
`,e=`
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
${w}
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
`}),9277:((L,b,d)=>{d.r(b),d.d(b,{collectOutput:()=>f,describeCollected:()=>v});var r=d(42841);async function f(u,h){const $=new AbortController,[E,w]=[_(h,$),_(h,$)],g=AbortSignal.any([$.signal,...u.signal==null?[]:[u.signal]]),O=await(0,r.mB)({...u,signal:g,outputs:[E.take,w.take]});return{end:$.signal.aborted?{kind:"too-much-output",maxBytes:h}:O,stdout:Buffer.concat(E.chunks),stderr:Buffer.concat(w.chunks)}}function v(u){return u.kind==="too-much-output"?`printed more than ${u.maxBytes/1024/1024} MiB`:(0,r.lA)(u)}function _(u,h){const $=[];let E=0;return{chunks:$,take:g=>{E+=g.length,E>u?h.abort():$.push(g)}}}}),14025:((L,b,d)=>{d.r(b),d.d(b,{RUN_TAG_NAME:()=>v,endTagged:()=>E,endTree:()=>$,membersOf:()=>g,parseStat:()=>k,sendToGroup:()=>w});var r=d(73024),f=d(58500);const v="RALPH_RUN_TAG",_=25,u=500,h=2e3;async function $(e,s){const n=new Set,i=new Set,t=performance.now()+s;for(let o=O(e,n);o.length>0;o=O(e,n)){const c=performance.now();if(c>=t+h)return;const l=o.some(a=>a===e.group);for(const a of o){const p=a===e.group?-a:a;c>=t?m(p,"SIGKILL"):!i.has(a)&&(a===e.group||!l)&&(m(p,"SIGTERM"),i.add(a))}await(0,f.setTimeout)(_)}}function E(e){return $({runTag:e,group:null},u)}function w(e,s){m(-e,s)}function g(e,s,n){const i=new Set(s.filter(t=>t.tagged||t.group===e.group||n.has(R(t))).map(t=>t.pid));for(let t=-1;t<i.size;){t=i.size;for(const o of s)i.has(o.parent)&&i.add(o.pid)}return s.filter(t=>i.has(t.pid))}function O(e,s){if(process.platform!=="linux")return e.group!==null&&m(-e.group,0)?[e.group]:[];const n=g(e,M(e.runTag),s).filter(i=>i.pid!==process.pid&&i.pid!==1);for(const i of n)s.add(R(i));return n.map(i=>i.pid)}function R(e){return`${e.pid}:${e.startedAt}`}function M(e){const s=Buffer.from(`${v}=${e}`);return(0,r.readdirSync)("/proc").filter(n=>/^\d+$/.test(n)).flatMap(n=>{const i=k(T(`/proc/${n}/stat`).toString());return i===null?[]:[{...i,tagged:e!==null&&T(`/proc/${n}/environ`).includes(s)}]})}function k(e){const s=e.slice(e.lastIndexOf(")")+2).split(" "),[n,i,t]=s,o=s[19];return n===void 0||i===void 0||t===void 0||o===void 0||/^[ZX]$/.test(n)?null:{pid:Number.parseInt(e,10),parent:Number(i),group:Number(t),startedAt:o}}function T(e){try{return(0,r.readFileSync)(e)}catch{return Buffer.alloc(0)}}function m(e,s){try{return process.kill(e,s)}catch{return!1}}}),42841:((L,b,d)=>{d.d(b,{Ap:()=>O,lA:()=>k,mB:()=>R});var r=d(57075),f=d(58500),v=d(46262),_=d(36624),u=d(14025);const h=3e3,$=500,E=1e3,w=2**31-1,g=new Set;process.on("exit",()=>{for(const e of g)(0,u.sendToGroup)(e,"SIGKILL")});function O({room:e,runTag:s,insteadOf:n=null}){return e===null?{kind:"run",runTag:s}:{kind:"room",room:e,insteadOf:n}}async function R(e){const{execa:s}=await d.e(9792).then(d.bind(d,69792));if(e.signal?.aborted===!0)return{kind:"cancelled"};const{family:n}=e,i=n.kind==="room"?await n.room.enter({...e,insteadOf:n.insteadOf??null}):e,t=s(i.file,i.args,{cwd:i.cwd,env:n.kind==="run"?{...e.environment,[u.RUN_TAG_NAME]:n.runTag}:i.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...e.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),o=t.pid;if(o===void 0){const{originalMessage:p,cause:P}=await t;return{kind:"not-started",why:p??"unknown reason",cause:P}}g.add(o);const c=T(t,"exit"),l=T(t,"close");e.outputs.forEach((p,P)=>t.stdio[P+1]?.on("data",p)),t.stdin.on("error",()=>{}),e.input instanceof r.Readable?e.input.pipe(t.stdin):e.input!==null&&t.stdin.end(e.input);const a=m(e);try{const p=n.kind==="group"&&n.leftover==="keep",P=await Promise.race([p?l:c,a.reached]),A=P.kind==="timeout"||P.kind==="cancelled";return p&&!A?P:n.kind==="group"&&!A?(await Promise.race([l,(0,f.setTimeout)($,void 0,{ref:!1})]),(0,u.sendToGroup)(o,"SIGKILL"),P):(n.kind==="room"?M(await n.room.end(A?h:$)):n.kind==="run"?await(0,u.endTree)({runTag:n.runTag,group:o},A?h:$):await(0,u.endTree)({runTag:null,group:o},n.graceMs),await Promise.race([l,(0,f.setTimeout)(E,void 0,{ref:!1})]),P)}finally{a.forget(),g.delete(o);for(const p of t.stdio)p.destroy()}}function M(e){if(e.length>0)throw new _.yo("infrastructure",`Processes of the agent cannot be ended: ${(0,v.eZ)(e)}. What was finished before is published. Restart the runner.`)}function k(e){switch(e.kind){case"exited":return`ended with exit code ${e.code}`;case"signalled":return`was ended by ${e.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${e.why}`}}function T(e,s){return new Promise(n=>{e.once(s,(i,t)=>{n(i===null?{kind:"signalled",signal:t??"unknown"}:{kind:"exited",code:i})})})}function m({timeoutMs:e,signal:s}){let n=()=>{};return{reached:new Promise(t=>{const o=()=>{t({kind:"cancelled"})},c=setTimeout(()=>{t({kind:"timeout"})},Math.min(e,w));s?.addEventListener("abort",o,{once:!0}),n=()=>{clearTimeout(c),s?.removeEventListener("abort",o)}}),forget:n}}}),74974:((L,b,d)=>{d.d(b,{Og:()=>m,Zw:()=>w,trustedProgram:()=>$,zu:()=>E});var r=d(73024),f=d(76760),v=d(36624);const _=["/usr/bin","/bin","/usr/sbin","/sbin"],u=["tar","gtar","zstd"],h=new Map;function $(t,o){const c=JSON.stringify([t,...g.map(a=>o[a]??"")]);let l=h.get(c);if(l===void 0){const a=O(t,o);l=a===null?null:{path:a,identity:n(a)},h.set(c,l)}if(l===null)return null;if(n(l.path)!==l.identity)throw i(l.path);return l.path}function E(t){const o=["git",...u].flatMap(a=>{const p=$(a,t);return p===null?[]:[(0,f.dirname)(p)]}),c=[...new Set([..._,...o])],l=a=>!T(a);return[...c.filter(l),...c.filter(a=>!l(a))].join(f.delimiter)}function w(t){return{LC_ALL:"C",PATH:E(t)}}const g=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function O(t,o){const a=(o.PATH??"").split(f.delimiter).filter(A=>(0,f.isAbsolute)(A)).map(A=>(0,f.join)(A,t)).filter(k).filter(A=>!M(A,R(o))),p=o.HOME??"",P=a.filter(A=>p===""||p==="/"||!M(A,[p]));return P.find(A=>!T(A))??P[0]??a[0]??null}function R(t){return[t.GITHUB_WORKSPACE,t.RUNNER_TEMP,t.TMPDIR??"/tmp"].filter(o=>o!==void 0&&o!==""&&o!=="/")}function M(t,o){const c=(l,a)=>(l+f.sep).startsWith((0,f.resolve)(a)+f.sep);return o.some(l=>c((0,f.resolve)(t),l)||c((0,r.realpathSync)(t),l))}function k(t){try{return(0,r.accessSync)(t,r.constants.X_OK),(0,r.statSync)(t).isFile()}catch{return!1}}function T(t){return[...new Set([(0,f.resolve)(t),s(t)])].some(c=>m(c).some(e))}function m(t){const o=(0,f.dirname)(t);return o===t?[t]:[t,...m(o)]}function e(t){try{return(0,r.accessSync)(t,r.constants.W_OK),!0}catch{return!1}}function s(t){try{return(0,r.realpathSync)(t)}catch{return t}}function n(t){const{dev:o,ino:c,size:l,mtimeMs:a,ctimeMs:p}=(0,r.statSync)(t,{throwIfNoEntry:!1})??{};return[o,c,l,a,p].join(":")}function i(t){return new v.yo("infrastructure",`${t} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}})};export{y as id,I as ids,D as modules};
