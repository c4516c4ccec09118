const I=3685,y=[3685,4974,4025],D={79439:((L,M,i)=>{i.d(M,{BI:()=>k,LS:()=>p,_c:()=>E,hg:()=>s,zI:()=>O});var o=i(13798),m=i(42934);const b=o.aig().int().nonnegative(),P=o.YjP().startsWith("/").max(4096),l=o.YjP().min(1).max(100),E={first:60706,last:61183},h=b.min(E.first).max(E.last),f=o.rej({pid:b,started:l,namespace:l,boot:l}),c={folder:P.regex(/\/ralph-room-[A-Za-z0-9]{8}$/),userName:o.YjP().regex(/^(ralph-\d+)?$/),given:o.YOg(o.rej({path:P,uid:b,gid:b})).max(20),closed:o.YOg(o.rej({path:P,mode:o.aig().int().min(0).max(4095)})).max(10)},v=o.rej({version:o.euz(2),...c,uid:h.nullable(),opened:o.YOg(o.rej({path:P,isPlain:o.zMY()})).max(100),run:o.rej({folder:P,process:f}).nullable(),isLeaving:o.zMY()}),T=o.rej({version:o.euz(1),...c,uid:h,opened:o.YOg(P).max(100)}).transform(({opened:t,...d})=>({...d,version:2,opened:t.map(n=>({path:n,isPlain:!1})),run:null,isLeaving:!1})),p=o.KCZ([v,T]),R=m.sO;function O({run:t},d){if(t===null)return!1;const{boot:n,namespace:a,started:e}=t.process;return(n!==d.boot||a===d.namespace&&e!==d.started)&&(!d.hasRecord||d.ageMs>R)}function k(t,d){return d.flatMap(({closed:n})=>n).find(n=>n.path===t)?.mode??null}function s(t,d){return k(t,d.filter(({isLeaving:n})=>!n))!==null}}),24196:((L,M,i)=>{i.d(M,{$P:()=>l,iD:()=>p,sg:()=>E,wg:()=>T});var o=i(73024),m=i(9277),b=i(74974),P=i(78326);class l extends Error{}const E="/usr/sbin:/usr/bin:/sbin:/bin",h=3e4,f=5e3,c=1e3,v=1024*1024;async function T(s){if(process.platform!=="linux")throw new l(`this works on Linux only, and this is ${process.platform}`);const[t=0,d=0]=[process.getuid?.(),process.getgid?.()],n={...s,PATH:E},a=t===0?[]:[O("sudo",n),"-n","--"],e=$=>{const[u,..._]=$,[g="",...A]=[...a,u.startsWith("/")?u:O(u,n),..._];return{file:g,args:A}};if(t!==0&&(await k(e(["true"]),f),!R()))throw new l("/proc hides other users' processes (hidepid)");const r=$=>O($,n);return{owner:{uid:t,gid:d},program:r,command:e,run:($,u,{way:_=[],timeoutMs:g=h}={})=>{const A=(0,b.trustedProgram)("timeout",n),w=A===null?[]:[A,"-s","KILL",String((g-c)/1e3)],[x="sh",...S]=[...w,..._,r("sh"),"-c",p($),"ralph",...u];return k(e([x,...S]),g)}}}function p(s){return`PATH=${E}; export PATH
${s}`}function R(){try{return(0,o.readFileSync)("/proc/1/status","utf8")!==""}catch{return!1}}function O(s,t){const d=(0,b.trustedProgram)(s,t);if(d===null)throw new l(`\`${s}\` is not installed`);return d}async function k({file:s,args:t},d){const{end:n,stdout:a,stderr:e}=await(0,m.collectOutput)({file:s,args:t,cwd:"/",environment:{LC_ALL:"C",PATH:E},input:"",timeoutMs:d,family:{kind:"group",graceMs:0,leftover:"end"}},v);if(n.kind==="exited"&&n.code===0)return a.toString();const r=e.toString().trim().split(`
`).at(-1)??"";throw new l(r===""?`a program ${(0,m.describeCollected)(n)}`:(0,P.TN)(r,200))}}),6598:((L,M,i)=>{i.d(M,{Ex:()=>O,IZ:()=>m,Nc:()=>k,Nd:()=>s,XI:()=>p,aI:()=>v,bh:()=>T,k9:()=>P,lS:()=>b,op:()=>R,t2:()=>t,tV:()=>f,vs:()=>l,zl:()=>h});var o=i(79439);const m=`
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
`,b=`
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
`,l=`
set -eu
mount --no-mtab --bind -- "$1" "$2"
shift 2
exec "$@"
`,h=`
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
`,f=`
find "$1" -xdev '(' -type d ! -perm -u=rwx -o -type f ! -perm -u=rw ')' -exec chmod u+rwX -- {} +
`,c=`
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
`,v=`
uid=$1 home=$2; shift 2
${c}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,T=`
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,p=`
for pid; do kill -KILL "$pid" 2> /dev/null; done
:
`,R=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs test -x "$path" && continue
  command -v setfacl > /dev/null || { echo "$path is closed to other users, and setfacl is not installed" >&2; exit 1; }
  kind=$(getfacl -cnp -- "$path" | awk -F: '
    $1 == "user" && $2 >= ${o._c.first} && $2 <= ${o._c.last} { isOfRooms = 1; next }
    $1 == "mask" { hasMask = 1; next }
    $1 != "default" && $2 != "" { isListed = 1 }
    END { print (isListed || hasMask && !isOfRooms) ? "listed" : "plain" }')
  setfacl -m "u:$uid:--x" -- "$path"
  echo "$kind $path"
done
`,O=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,k=`
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
`,s=`
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
`,t=`
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
${c}
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
`}),9277:((L,M,i)=>{i.r(M),i.d(M,{collectOutput:()=>m,describeCollected:()=>b});var o=i(42841);async function m(l,E){const h=new AbortController,[f,c]=[P(E,h),P(E,h)],v=AbortSignal.any([h.signal,...l.signal==null?[]:[l.signal]]),T=await(0,o.mB)({...l,signal:v,outputs:[f.take,c.take]});return{end:h.signal.aborted?{kind:"too-much-output",maxBytes:E}:T,stdout:Buffer.concat(f.chunks),stderr:Buffer.concat(c.chunks)}}function b(l){return l.kind==="too-much-output"?`printed more than ${l.maxBytes/1024/1024} MiB`:(0,o.lA)(l)}function P(l,E){const h=[];let f=0;return{chunks:h,take:v=>{f+=v.length,f>l?E.abort():h.push(v)}}}}),72601:((L,M,i)=>{i.d(M,{Uc:()=>b});var o=i(73024);const m=2097152;function b(f){const c=Buffer.from(`${f}\0`),T=(0,o.readdirSync)("/proc").filter(p=>/^\d+$/.test(p)).flatMap(p=>{const R=P(h(p,"stat"));if(R===null)return[];const O=f===null?null:h(p,"environ");return[{entry:{...R,tagged:O?.includes(c)===!0},isUnsure:O?.length===0&&l(String(h(p,"stat")??""))}]});return{entries:T.map(({entry:p})=>p),isUnsure:T.some(({isUnsure:p})=>p)}}function P(f){const[c,v]=E(f),[T,p,R]=v,O=v[19];return T===void 0||p===void 0||R===void 0||O===void 0||/^[ZX]$/.test(T)?null:{pid:c,parent:Number(p),group:Number(R),startedAt:O}}function l(f){const[,c]=E(f),[v,T,p]=[c[6],c[47],c[48]];return P(f)===null||v===void 0||p===void 0?!1:(Number(v)&m)===0&&(p==="0"||T!==p)}function E(f){const c=String(f??"");return[Number.parseInt(c,10),c.slice(c.lastIndexOf(")")+2).split(" ")]}function h(f,c){try{return(0,o.readFileSync)(`/proc/${f}/${c}`)}catch{return null}}}),14025:((L,M,i)=>{i.r(M),i.d(M,{RUN_TAG_NAME:()=>b,createPatience:()=>c,endTagged:()=>v,endTree:()=>f,membersOf:()=>p,sendToGroup:()=>T});var o=i(58500),m=i(72601);const b="RALPH_RUN_TAG",P=25,l=500,E=2e3,h=1e3;async function f(s,t){const d=new Set,n=new Set,a=performance.now()+t,e=c(a,E);let r=null;for(let $=0;$<2;){const{alive:u,isUnsure:_}=R(s,d),g=performance.now();if(r=u.length>0?null:r??g,e.isOver(u.length,g)||r!==null&&g>=r+h)return;$=u.length>0||_?0:$+1;const A=u.some(w=>w===s.group);for(const w of u){const x=w===s.group?-w:w;g>=a?k(x,"SIGKILL"):!n.has(w)&&(w===s.group||!A)&&(k(x,"SIGTERM"),n.add(w))}$===0&&await(0,o.setTimeout)(P)}}function c(s,t){let d=Number.POSITIVE_INFINITY,n=Number.POSITIVE_INFINITY;return{isOver:(a,e)=>e<s?!1:(a<d&&(d=a,n=e+t),e>=n)}}function v(s){return f({runTag:s,group:null},l)}function T(s,t){k(-s,t)}function p(s,t,d){const n=new Set(t.filter(a=>a.tagged||a.group===s.group||d.has(O(a))).map(a=>a.pid));for(let a=-1;a<n.size;){a=n.size;for(const e of t)n.has(e.parent)&&n.add(e.pid)}return t.filter(a=>n.has(a.pid))}function R(s,t){if(process.platform!=="linux")return{alive:s.group!==null&&k(-s.group,0)?[s.group]:[],isUnsure:!1};const{entries:d,isUnsure:n}=(0,m.Uc)(s.runTag===null?null:`${b}=${s.runTag}`),a=p(s,d,t).filter(e=>e.pid!==process.pid&&e.pid!==1);for(const e of a)t.add(O(e));return{alive:a.map(e=>e.pid),isUnsure:n}}function O(s){return`${s.pid}:${s.startedAt}`}function k(s,t){try{return process.kill(s,t)}catch{return!1}}}),42841:((L,M,i)=>{i.d(M,{Ap:()=>T,lA:()=>O,mB:()=>p});var o=i(57075),m=i(58500),b=i(46262),P=i(36624),l=i(14025);const E=3e3,h=500,f=1e3,c=2**31-1,v=new Set;process.on("exit",()=>{for(const t of v)(0,l.sendToGroup)(t,"SIGKILL")});function T({room:t,runTag:d,insteadOf:n=null}){return t===null?{kind:"run",runTag:d}:{kind:"room",room:t,insteadOf:n}}async function p(t){const{execa:d}=await i.e(9792).then(i.bind(i,69792));if(t.signal?.aborted===!0)return{kind:"cancelled"};const{family:n}=t,a=n.kind==="room"?await n.room.enter({...t,insteadOf:n.insteadOf??null}):t,e=d(a.file,a.args,{cwd:a.cwd,env:n.kind==="run"?{...t.environment,[l.RUN_TAG_NAME]:n.runTag}:a.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...t.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),r=e.pid;if(r===void 0){const{originalMessage:g,cause:A}=await e;return{kind:"not-started",why:g??"unknown reason",cause:A}}v.add(r);const $=k(e,"exit"),u=k(e,"close");t.outputs.forEach((g,A)=>e.stdio[A+1]?.on("data",g)),e.stdin.on("error",()=>{}),t.input instanceof o.Readable?t.input.pipe(e.stdin):t.input!==null&&e.stdin.end(t.input);const _=s(t);try{const g=n.kind==="group"&&n.leftover==="keep",A=await Promise.race([g?u:$,_.reached]),w=A.kind==="timeout"||A.kind==="cancelled";return g&&!w?A:n.kind==="group"&&!w?(await Promise.race([u,(0,m.setTimeout)(h,void 0,{ref:!1})]),(0,l.sendToGroup)(r,"SIGKILL"),A):(n.kind==="room"?R(await n.room.end(w?E:h)):n.kind==="run"?await(0,l.endTree)({runTag:n.runTag,group:r},w?E:h):await(0,l.endTree)({runTag:null,group:r},n.graceMs),await Promise.race([u,(0,m.setTimeout)(f,void 0,{ref:!1})]),A)}finally{_.forget(),v.delete(r);for(const g of e.stdio)g.destroy()}}function R(t){if(t.length>0)throw new P.yo("infrastructure",`Processes of the agent cannot be ended: ${(0,b.eZ)(t)}. What was finished before is published. Restart the runner.`)}function O(t){switch(t.kind){case"exited":return`ended with exit code ${t.code}`;case"signalled":return`was ended by ${t.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${t.why}`}}function k(t,d){return new Promise(n=>{t.once(d,(a,e)=>{n(a===null?{kind:"signalled",signal:e??"unknown"}:{kind:"exited",code:a})})})}function s({timeoutMs:t,signal:d}){let n=()=>{};return{reached:new Promise(e=>{const r=()=>{e({kind:"cancelled"})},$=setTimeout(()=>{e({kind:"timeout"})},Math.min(t,c));d?.addEventListener("abort",r,{once:!0}),n=()=>{clearTimeout($),d?.removeEventListener("abort",r)}}),forget:n}}}),74974:((L,M,i)=>{i.d(M,{Og:()=>s,Zw:()=>c,trustedProgram:()=>h,zu:()=>f});var o=i(73024),m=i(76760),b=i(36624);const P=["/usr/bin","/bin","/usr/sbin","/sbin"],l=["tar","gtar","zstd"],E=new Map;function h(e,r){const $=JSON.stringify([e,...v.map(_=>r[_]??"")]);let u=E.get($);if(u===void 0){const _=T(e,r);u=_===null?null:{path:_,identity:n(_)},E.set($,u)}if(u===null)return null;if(n(u.path)!==u.identity)throw a(u.path);return u.path}function f(e){const r=["git",...l].flatMap(_=>{const g=h(_,e);return g===null?[]:[(0,m.dirname)(g)]}),$=[...new Set([...P,...r])],u=_=>!k(_);return[...$.filter(u),...$.filter(_=>!u(_))].join(m.delimiter)}function c(e){return{LC_ALL:"C",PATH:f(e)}}const v=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function T(e,r){const _=(r.PATH??"").split(m.delimiter).filter(w=>(0,m.isAbsolute)(w)).map(w=>(0,m.join)(w,e)).filter(O).filter(w=>!R(w,p(r))),g=r.HOME??"",A=_.filter(w=>g===""||g==="/"||!R(w,[g]));return A.find(w=>!k(w))??A[0]??_[0]??null}function p(e){return[e.GITHUB_WORKSPACE,e.RUNNER_TEMP,e.TMPDIR??"/tmp"].filter(r=>r!==void 0&&r!==""&&r!=="/")}function R(e,r){const $=(u,_)=>(u+m.sep).startsWith((0,m.resolve)(_)+m.sep);return r.some(u=>$((0,m.resolve)(e),u)||$((0,o.realpathSync)(e),u))}function O(e){try{return(0,o.accessSync)(e,o.constants.X_OK),(0,o.statSync)(e).isFile()}catch{return!1}}function k(e){return[...new Set([(0,m.resolve)(e),d(e)])].some($=>s($).some(t))}function s(e){const r=(0,m.dirname)(e);return r===e?[e]:[e,...s(r)]}function t(e){try{return(0,o.accessSync)(e,o.constants.W_OK),!0}catch{return!1}}function d(e){try{return(0,o.realpathSync)(e)}catch{return e}}function n(e){const{dev:r,ino:$,size:u,mtimeMs:_,ctimeMs:g}=(0,o.statSync)(e,{throwIfNoEntry:!1})??{};return[r,$,u,_,g].join(":")}function a(e){return new b.yo("infrastructure",`${e} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}})};export{I as id,y as ids,D as modules};
