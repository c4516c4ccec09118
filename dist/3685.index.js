const y=3685,I=[3685,4974,4025],D={79439:((L,w,d)=>{d.d(w,{BI:()=>b,LS:()=>k,_c:()=>u,hg:()=>R,zI:()=>M});var r=d(13798);const f=r.aig().int().nonnegative(),_=r.YjP().startsWith("/").max(4096),P=r.YjP().min(1).max(100),u={first:60706,last:61183},m=f.min(u.first).max(u.last),h=r.rej({pid:f,started:P,namespace:P,boot:P}),E={folder:_.regex(/\/ralph-room-[A-Za-z0-9]{8}$/),userName:r.YjP().regex(/^(ralph-\d+)?$/),given:r.YOg(r.rej({path:_,uid:f,gid:f})).max(20),closed:r.YOg(r.rej({path:_,mode:r.aig().int().min(0).max(4095)})).max(10)},A=r.rej({version:r.euz(2),...E,uid:m.nullable(),opened:r.YOg(r.rej({path:_,isPlain:r.zMY()})).max(100),run:r.rej({folder:_,process:h}).nullable(),isLeaving:r.zMY()}),g=r.rej({version:r.euz(1),...E,uid:m,opened:r.YOg(_).max(100)}).transform(({opened:c,...e})=>({...e,version:2,opened:c.map(o=>({path:o,isPlain:!1})),run:null,isLeaving:!1})),k=r.KCZ([A,g]),O=1440*60*1e3;function M({run:c},e){if(c===null)return!1;const{boot:o,namespace:n,started:i}=c.process;return(o!==e.boot||n===e.namespace&&i!==e.started)&&(!e.hasRecord||e.ageMs>O)}function b(c,e){return e.flatMap(({closed:o})=>o).find(o=>o.path===c)?.mode??null}function R(c,e){return b(c,e.filter(({isLeaving:o})=>!o))!==null}}),24196:((L,w,d)=>{d.d(w,{$P:()=>u,iD:()=>O,sg:()=>m,wg:()=>k});var r=d(73024),f=d(9277),_=d(74974),P=d(78326);class u extends Error{}const m="/usr/sbin:/usr/bin:/sbin:/bin",h=3e4,E=5e3,A=1e3,g=1024*1024;async function k(c){if(process.platform!=="linux")throw new u(`this works on Linux only, and this is ${process.platform}`);const[e=0,o=0]=[process.getuid?.(),process.getgid?.()],n={...c,PATH:m},i=e===0?[]:[b("sudo",n),"-n","--"],t=$=>{const[l,...a]=$,[p="",...v]=[...i,l.startsWith("/")?l:b(l,n),...a];return{file:p,args:v}};if(e!==0&&(await R(t(["true"]),E),!M()))throw new u("/proc hides other users' processes (hidepid)");const s=$=>b($,n);return{owner:{uid:e,gid:o},program:s,command:t,run:($,l,{way:a=[],timeoutMs:p=h}={})=>{const v=(0,_.trustedProgram)("timeout",n),T=v===null?[]:[v,"-s","KILL",String((p-A)/1e3)],[x="sh",...S]=[...T,...a,s("sh"),"-c",O($),"ralph",...l];return R(t([x,...S]),p)}}}function O(c){return`PATH=${m}; export PATH
${c}`}function M(){try{return(0,r.readFileSync)("/proc/1/status","utf8")!==""}catch{return!1}}function b(c,e){const o=(0,_.trustedProgram)(c,e);if(o===null)throw new u(`\`${c}\` is not installed`);return o}async function R({file:c,args:e},o){const{end:n,stdout:i,stderr:t}=await(0,f.collectOutput)({file:c,args:e,cwd:"/",environment:{LC_ALL:"C",PATH:m},input:"",timeoutMs:o,family:{kind:"group",graceMs:0,leftover:"end"}},g);if(n.kind==="exited"&&n.code===0)return i.toString();const s=t.toString().trim().split(`
`).at(-1)??"";throw new u(s===""?`a program ${(0,f.describeCollected)(n)}`:(0,P.TN)(s,200))}}),6598:((L,w,d)=>{d.d(w,{Ex:()=>R,IZ:()=>f,Nc:()=>c,Nd:()=>e,WE:()=>A,XI:()=>M,aI:()=>k,bh:()=>O,k9:()=>P,lS:()=>_,op:()=>b,t2:()=>o,vs:()=>u,zl:()=>h});var r=d(79439);const f=`
set -eu
umask 077
owner=$1 room=$2 reservations=$3; shift 3
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
`,_=`
ln -sn "$2" "$3/ralph-room-$1"
`,P=`
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
`,m=`
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,h=`
set -eu
from=$1 to=$2 top=$3 path=$4
[ -e "$path" ] || exit 0
${m}
`,A=`
set -eu
from=$1 to=$2 top=$3 path=$4; shift 4
[ -e "$path" ] || exit 0
(

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

)
${m}
`,g=`
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
`,k=`
uid=$1 home=$2; shift 2
${g}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,O=`
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,M=`
for pid; do kill -KILL "$pid" 2> /dev/null; done
:
`,b=`
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
`,R=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,c=`
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
`,e=`
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
`,o=`
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
${g}
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
isHeld() { if [ -L "$link" ]; then [ "$(readlink "$link")" = "$room" ]; else [ -d "$link" ]; fi; }
! isHeld || rm -df -- "$link" 2> /dev/null
! isHeld || left "the reservation $link (rm -d $link)"
:
`}),9277:((L,w,d)=>{d.r(w),d.d(w,{collectOutput:()=>f,describeCollected:()=>_});var r=d(42841);async function f(u,m){const h=new AbortController,[E,A]=[P(m,h),P(m,h)],g=AbortSignal.any([h.signal,...u.signal==null?[]:[u.signal]]),k=await(0,r.mB)({...u,signal:g,outputs:[E.take,A.take]});return{end:h.signal.aborted?{kind:"too-much-output",maxBytes:m}:k,stdout:Buffer.concat(E.chunks),stderr:Buffer.concat(A.chunks)}}function _(u){return u.kind==="too-much-output"?`printed more than ${u.maxBytes/1024/1024} MiB`:(0,r.lA)(u)}function P(u,m){const h=[];let E=0;return{chunks:h,take:g=>{E+=g.length,E>u?m.abort():h.push(g)}}}}),14025:((L,w,d)=>{d.r(w),d.d(w,{RUN_TAG_NAME:()=>_,endTagged:()=>E,endTree:()=>h,membersOf:()=>g,parseStat:()=>b,sendToGroup:()=>A});var r=d(73024),f=d(58500);const _="RALPH_RUN_TAG",P=25,u=500,m=2e3;async function h(e,o){const n=new Set,i=new Set,t=performance.now()+o;for(let s=k(e,n);s.length>0;s=k(e,n)){const $=performance.now();if($>=t+m)return;const l=s.some(a=>a===e.group);for(const a of s){const p=a===e.group?-a:a;$>=t?c(p,"SIGKILL"):!i.has(a)&&(a===e.group||!l)&&(c(p,"SIGTERM"),i.add(a))}await(0,f.setTimeout)(P)}}function E(e){return h({runTag:e,group:null},u)}function A(e,o){c(-e,o)}function g(e,o,n){const i=new Set(o.filter(t=>t.tagged||t.group===e.group||n.has(O(t))).map(t=>t.pid));for(let t=-1;t<i.size;){t=i.size;for(const s of o)i.has(s.parent)&&i.add(s.pid)}return o.filter(t=>i.has(t.pid))}function k(e,o){if(process.platform!=="linux")return e.group!==null&&c(-e.group,0)?[e.group]:[];const n=g(e,M(e.runTag),o).filter(i=>i.pid!==process.pid&&i.pid!==1);for(const i of n)o.add(O(i));return n.map(i=>i.pid)}function O(e){return`${e.pid}:${e.startedAt}`}function M(e){const o=Buffer.from(`${_}=${e}`);return(0,r.readdirSync)("/proc").filter(n=>/^\d+$/.test(n)).flatMap(n=>{const i=b(R(`/proc/${n}/stat`).toString());return i===null?[]:[{...i,tagged:e!==null&&R(`/proc/${n}/environ`).includes(o)}]})}function b(e){const o=e.slice(e.lastIndexOf(")")+2).split(" "),[n,i,t]=o,s=o[19];return n===void 0||i===void 0||t===void 0||s===void 0||/^[ZX]$/.test(n)?null:{pid:Number.parseInt(e,10),parent:Number(i),group:Number(t),startedAt:s}}function R(e){try{return(0,r.readFileSync)(e)}catch{return Buffer.alloc(0)}}function c(e,o){try{return process.kill(e,o)}catch{return!1}}}),42841:((L,w,d)=>{d.d(w,{Ap:()=>k,lA:()=>b,mB:()=>O});var r=d(57075),f=d(58500),_=d(46262),P=d(36624),u=d(14025);const m=3e3,h=500,E=1e3,A=2**31-1,g=new Set;process.on("exit",()=>{for(const e of g)(0,u.sendToGroup)(e,"SIGKILL")});function k({room:e,runTag:o,insteadOf:n=null}){return e===null?{kind:"run",runTag:o}:{kind:"room",room:e,insteadOf:n}}async function O(e){const{execa:o}=await d.e(6993).then(d.bind(d,16993));if(e.signal?.aborted===!0)return{kind:"cancelled"};const{family:n}=e,i=n.kind==="room"?await n.room.enter({...e,insteadOf:n.insteadOf??null}):e,t=o(i.file,i.args,{cwd:i.cwd,env:n.kind==="run"?{...e.environment,[u.RUN_TAG_NAME]:n.runTag}:i.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...e.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),s=t.pid;if(s===void 0){const{originalMessage:p,cause:v}=await t;return{kind:"not-started",why:p??"unknown reason",cause:v}}g.add(s);const $=R(t,"exit"),l=R(t,"close");e.outputs.forEach((p,v)=>t.stdio[v+1]?.on("data",p)),t.stdin.on("error",()=>{}),e.input instanceof r.Readable?e.input.pipe(t.stdin):e.input!==null&&t.stdin.end(e.input);const a=c(e);try{const p=n.kind==="group"&&n.leftover==="keep",v=await Promise.race([p?l:$,a.reached]),T=v.kind==="timeout"||v.kind==="cancelled";return p&&!T?v:n.kind==="group"&&!T?(await Promise.race([l,(0,f.setTimeout)(h,void 0,{ref:!1})]),(0,u.sendToGroup)(s,"SIGKILL"),v):(n.kind==="room"?M(await n.room.end(T?m:h)):n.kind==="run"?await(0,u.endTree)({runTag:n.runTag,group:s},T?m:h):await(0,u.endTree)({runTag:null,group:s},n.graceMs),await Promise.race([l,(0,f.setTimeout)(E,void 0,{ref:!1})]),v)}finally{a.forget(),g.delete(s);for(const p of t.stdio)p.destroy()}}function M(e){if(e.length>0)throw new P.yo("infrastructure",`Processes of the agent cannot be ended: ${(0,_.eZ)(e)}. What was finished before is published. Restart the runner.`)}function b(e){switch(e.kind){case"exited":return`ended with exit code ${e.code}`;case"signalled":return`was ended by ${e.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${e.why}`}}function R(e,o){return new Promise(n=>{e.once(o,(i,t)=>{n(i===null?{kind:"signalled",signal:t??"unknown"}:{kind:"exited",code:i})})})}function c({timeoutMs:e,signal:o}){let n=()=>{};return{reached:new Promise(t=>{const s=()=>{t({kind:"cancelled"})},$=setTimeout(()=>{t({kind:"timeout"})},Math.min(e,A));o?.addEventListener("abort",s,{once:!0}),n=()=>{clearTimeout($),o?.removeEventListener("abort",s)}}),forget:n}}}),74974:((L,w,d)=>{d.r(w),d.d(w,{trustedEnvironment:()=>A,trustedPath:()=>E,trustedProgram:()=>h});var r=d(73024),f=d(76760),_=d(36624);const P=["/usr/bin","/bin","/usr/sbin","/sbin"],u=["tar","gtar","zstd"],m=new Map;function h(t,s){const $=JSON.stringify([t,...g.map(a=>s[a]??"")]);let l=m.get($);if(l===void 0){const a=k(t,s);l=a===null?null:{path:a,identity:n(a)},m.set($,l)}if(l===null)return null;if(n(l.path)!==l.identity)throw i(l.path);return l.path}function E(t){const s=["git",...u].flatMap(a=>{const p=h(a,t);return p===null?[]:[(0,f.dirname)(p)]}),$=[...new Set([...P,...s])],l=a=>!R(a);return[...$.filter(l),...$.filter(a=>!l(a))].join(f.delimiter)}function A(t){return{LC_ALL:"C",PATH:E(t)}}const g=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function k(t,s){const a=(s.PATH??"").split(f.delimiter).filter(T=>(0,f.isAbsolute)(T)).map(T=>(0,f.join)(T,t)).filter(b).filter(T=>!M(T,O(s))),p=s.HOME??"",v=a.filter(T=>p===""||p==="/"||!M(T,[p]));return v.find(T=>!R(T))??v[0]??a[0]??null}function O(t){return[t.GITHUB_WORKSPACE,t.RUNNER_TEMP,t.TMPDIR??"/tmp"].filter(s=>s!==void 0&&s!==""&&s!=="/")}function M(t,s){const $=(l,a)=>(l+f.sep).startsWith((0,f.resolve)(a)+f.sep);return s.some(l=>$((0,f.resolve)(t),l)||$((0,r.realpathSync)(t),l))}function b(t){try{return(0,r.accessSync)(t,r.constants.X_OK),(0,r.statSync)(t).isFile()}catch{return!1}}function R(t){return[...new Set([(0,f.resolve)(t),o(t)])].some($=>c($).some(e))}function c(t){const s=(0,f.dirname)(t);return s===t?[t]:[t,...c(s)]}function e(t){try{return(0,r.accessSync)(t,r.constants.W_OK),!0}catch{return!1}}function o(t){try{return(0,r.realpathSync)(t)}catch{return t}}function n(t){const{dev:s,ino:$,size:l,mtimeMs:a,ctimeMs:p}=(0,r.statSync)(t,{throwIfNoEntry:!1})??{};return[s,$,l,a,p].join(":")}function i(t){return new _.yo("infrastructure",`${t} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}})};export{y as id,I as ids,D as modules};
