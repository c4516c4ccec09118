const y=3685,I=[3685,4974,4025],x={24196:((L,g,d)=>{d.d(g,{$P:()=>a,iD:()=>T,sg:()=>$,wg:()=>_});var m=d(73024),f=d(9277),A=d(74974),M=d(78326);class a extends Error{}const $="/usr/sbin:/usr/bin:/sbin:/bin",p=3e4,v=5e3,P=1024*1024;async function _(h){if(process.platform!=="linux")throw new a(`this works on Linux only, and this is ${process.platform}`);const[E=0,t=0]=[process.getuid?.(),process.getgid?.()],s={...h,PATH:$},o=E===0?[]:[b("sudo",s),"-n","--"],r=n=>{const[c,...u]=n,[i="",...l]=[...o,c.startsWith("/")?c:b(c,s),...u];return{file:i,args:l}};if(E!==0&&(await S(r(["true"]),v),!O()))throw new a("/proc hides other users' processes (hidepid)");const e=n=>b(n,s);return{owner:{uid:E,gid:t},program:e,command:r,run:(n,c,u=[])=>{const[i="sh",...l]=[...u,e("sh"),"-c",T(n),"ralph",...c];return S(r([i,...l]),p)}}}function T(h){return`PATH=${$}; export PATH
${h}`}function O(){try{return(0,m.readFileSync)("/proc/1/status","utf8")!==""}catch{return!1}}function b(h,E){const t=(0,A.trustedProgram)(h,E);if(t===null)throw new a(`\`${h}\` is not installed`);return t}async function S({file:h,args:E},t){const{end:s,stdout:o,stderr:r}=await(0,f.collectOutput)({file:h,args:E,cwd:"/",environment:{LC_ALL:"C",PATH:$},input:"",timeoutMs:t,family:{kind:"group",graceMs:0,leftover:"end"}},P);if(s.kind==="exited"&&s.code===0)return o.toString();const e=r.toString().trim().split(`
`).at(-1)??"";throw new a(e===""?`a program ${(0,f.describeCollected)(s)}`:(0,M.TN)(e,200))}}),6598:((L,g,d)=>{d.d(g,{Ex:()=>_,IZ:()=>m,Nc:()=>T,Nd:()=>O,XI:()=>v,aI:()=>$,bh:()=>p,k9:()=>f,op:()=>P,t2:()=>b,vs:()=>A,zl:()=>M});const m=`
set -eu
umask 077
owner=$1 base=$2 reservations=$3; shift 3
for uid; do
  mkdir "$reservations/ralph-room-$uid" 2>/dev/null && break
  uid=
done
[ -n "$uid" ] || { echo 'no user id is free' >&2; exit 1; }
if ! room=$(mktemp -d "$base/ralph-room-XXXXXXXX"); then rmdir "$reservations/ralph-room-$uid"; exit 1; fi
mkdir "$room/home" "$room/session" "$room/inbox" "$room/clones" "$room/root"
chown "$uid:$uid" "$room/home"
chown "$owner:$uid" "$room" "$room/session" "$room/inbox" "$room/clones"
chmod 0750 "$room"
chmod 2750 "$room/inbox" "$room/clones"
chmod 0700 "$room/home"
echo "$uid"
echo "$room"
`,f=`
set -eu
fstab=$1 root=$2; shift 2
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
: > "$root/run/ralph-room"
cd "$root"
pivot_root . .
umount -l .
cd /
mount -o remount,ro /
mount -o remount,ro /run
echo "$pid"
while read -r line; do :; done
`,A=`
set -eu
mount --no-mtab --bind -- "$1" "$2"
shift 2
exec "$@"
`,M=`
set -eu
from=$1 to=$2 top=$3 path=$4
[ -e "$path" ] || exit 0
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,a=`
left=$#
while [ $left -gt 0 ]; do
  set -- "$@" -path "$1" -prune -o
  shift
  left=$((left - 1))
done
for folder in /tmp /var/tmp /dev/shm; do
  [ -d "$folder" ] && find "$folder" -xdev -mindepth 1 "$@" -user "$uid" -prune -exec rm -rf -- {} + 2> /dev/null
done
`,$=`
uid=$1 home=$2; shift 2
${a}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,p=`
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,v=`
for pid; do kill -KILL "$pid" 2> /dev/null; done
:
`,P=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs test -x "$path" && continue
  command -v setfacl > /dev/null || { echo "$path is closed to other users, and setfacl is not installed" >&2; exit 1; }
  setfacl -m "u:$uid:--x" -- "$path"
  echo "$path"
done
`,_=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,T=`
set -eu
uid=$1 ports=$2
if command -v nft > /dev/null && nft list tables > /dev/null 2>&1; then
  if nft -f - << RULES
table inet ralph_$uid {
  chain out {
    type filter hook output priority 0; policy accept;
    meta skuid $uid ip daddr 127.0.0.1 tcp dport { $ports } accept
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
  "$tables" -w 5 -N "RALPH_$uid" 2> /dev/null || exit 3
  [ "$tables" = ip6tables ] ||
    "$tables" -w 5 -A "RALPH_$uid" -d 127.0.0.1 -p tcp -m multiport --dports "$(echo "$ports" | tr -d ' ')" -j ACCEPT
  "$tables" -w 5 -A "RALPH_$uid" -j REJECT
  "$tables" -w 5 -I OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid"
done
echo iptables
`,O=`
uid=$1; shift
for path; do setfacl -x "u:$uid" -- "$path" 2> /dev/null; done
:
`,b=`
reservations=$1 uid=$2 name=$3 room=$4 session=$5; shift 5
if command -v nft > /dev/null; then nft delete table inet "ralph_$uid" 2> /dev/null; fi
for tables in iptables ip6tables; do
  command -v "$tables" > /dev/null || continue
  "$tables" -w 5 -D OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -F "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -X "RALPH_$uid" 2> /dev/null
done
${a}
if [ -n "$name" ]; then userdel "$name" > /dev/null 2>&1; fi
if [ -n "$(ls -A "$room/session" 2> /dev/null)" ] && [ ! -e "$session" ]; then mv -- "$room/session" "$session"; fi
rm -rf -- "$room"
rmdir "$reservations/ralph-room-$uid" 2> /dev/null
[ ! -e "$room" ]
`}),9277:((L,g,d)=>{d.r(g),d.d(g,{collectOutput:()=>f,describeCollected:()=>A});var m=d(42841);async function f(a,$){const p=new AbortController,[v,P]=[M($,p),M($,p)],_=AbortSignal.any([p.signal,...a.signal==null?[]:[a.signal]]),T=await(0,m.mB)({...a,signal:_,outputs:[v.take,P.take]});return{end:p.signal.aborted?{kind:"too-much-output",maxBytes:$}:T,stdout:Buffer.concat(v.chunks),stderr:Buffer.concat(P.chunks)}}function A(a){return a.kind==="too-much-output"?`printed more than ${a.maxBytes/1024/1024} MiB`:(0,m.lA)(a)}function M(a,$){const p=[];let v=0;return{chunks:p,take:_=>{v+=_.length,v>a?$.abort():p.push(_)}}}}),14025:((L,g,d)=>{d.r(g),d.d(g,{RUN_TAG_NAME:()=>A,endTagged:()=>v,endTree:()=>p,membersOf:()=>_,parseStat:()=>S,sendToGroup:()=>P});var m=d(73024),f=d(58500);const A="RALPH_RUN_TAG",M=25,a=500,$=2e3;async function p(t,s){const o=new Set,r=new Set,e=performance.now()+s;for(let n=T(t,o);n.length>0;n=T(t,o)){const c=performance.now();if(c>=e+$)return;const u=n.some(i=>i===t.group);for(const i of n){const l=i===t.group?-i:i;c>=e?E(l,"SIGKILL"):!r.has(i)&&(i===t.group||!u)&&(E(l,"SIGTERM"),r.add(i))}await(0,f.setTimeout)(M)}}function v(t){return p({runTag:t,group:null},a)}function P(t,s){E(-t,s)}function _(t,s,o){const r=new Set(s.filter(e=>e.tagged||e.group===t.group||o.has(O(e))).map(e=>e.pid));for(let e=-1;e<r.size;){e=r.size;for(const n of s)r.has(n.parent)&&r.add(n.pid)}return s.filter(e=>r.has(e.pid))}function T(t,s){if(process.platform!=="linux")return t.group!==null&&E(-t.group,0)?[t.group]:[];const o=_(t,b(t.runTag),s).filter(r=>r.pid!==process.pid&&r.pid!==1);for(const r of o)s.add(O(r));return o.map(r=>r.pid)}function O(t){return`${t.pid}:${t.startedAt}`}function b(t){const s=Buffer.from(`${A}=${t}`);return(0,m.readdirSync)("/proc").filter(o=>/^\d+$/.test(o)).flatMap(o=>{const r=S(h(`/proc/${o}/stat`).toString());return r===null?[]:[{...r,tagged:t!==null&&h(`/proc/${o}/environ`).includes(s)}]})}function S(t){const s=t.slice(t.lastIndexOf(")")+2).split(" "),[o,r,e]=s,n=s[19];return o===void 0||r===void 0||e===void 0||n===void 0||/^[ZX]$/.test(o)?null:{pid:Number.parseInt(t,10),parent:Number(r),group:Number(e),startedAt:n}}function h(t){try{return(0,m.readFileSync)(t)}catch{return Buffer.alloc(0)}}function E(t,s){try{return process.kill(t,s)}catch{return!1}}}),42841:((L,g,d)=>{d.d(g,{Ap:()=>T,lA:()=>S,mB:()=>O});var m=d(57075),f=d(58500),A=d(46262),M=d(36624),a=d(14025);const $=3e3,p=500,v=1e3,P=2**31-1,_=new Set;process.on("exit",()=>{for(const t of _)(0,a.sendToGroup)(t,"SIGKILL")});function T({room:t,runTag:s,insteadOf:o=null}){return t===null?{kind:"run",runTag:s}:{kind:"room",room:t,insteadOf:o}}async function O(t){const{execa:s}=await d.e(6993).then(d.bind(d,16993));if(t.signal?.aborted===!0)return{kind:"cancelled"};const{family:o}=t,r=o.kind==="room"?await o.room.enter({...t,insteadOf:o.insteadOf??null}):t,e=s(r.file,r.args,{cwd:r.cwd,env:o.kind==="run"?{...t.environment,[a.RUN_TAG_NAME]:o.runTag}:r.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...t.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),n=e.pid;if(n===void 0){const{originalMessage:l,cause:R}=await e;return{kind:"not-started",why:l??"unknown reason",cause:R}}_.add(n);const c=h(e,"exit"),u=h(e,"close");t.outputs.forEach((l,R)=>e.stdio[R+1]?.on("data",l)),e.stdin.on("error",()=>{}),t.input instanceof m.Readable?t.input.pipe(e.stdin):t.input!==null&&e.stdin.end(t.input);const i=E(t);try{const l=o.kind==="group"&&o.leftover==="keep",R=await Promise.race([l?u:c,i.reached]),w=R.kind==="timeout"||R.kind==="cancelled";return l&&!w?R:o.kind==="group"&&!w?(await Promise.race([u,(0,f.setTimeout)(p,void 0,{ref:!1})]),(0,a.sendToGroup)(n,"SIGKILL"),R):(o.kind==="room"?b(await o.room.end(w?$:p)):o.kind==="run"?await(0,a.endTree)({runTag:o.runTag,group:n},w?$:p):await(0,a.endTree)({runTag:null,group:n},o.graceMs),await Promise.race([u,(0,f.setTimeout)(v,void 0,{ref:!1})]),R)}finally{i.forget(),_.delete(n);for(const l of e.stdio)l.destroy()}}function b(t){if(t.length>0)throw new M.yo("infrastructure",`Processes of the agent cannot be ended: ${(0,A.eZ)(t)}. What was finished before is published. Restart the runner.`)}function S(t){switch(t.kind){case"exited":return`ended with exit code ${t.code}`;case"signalled":return`was ended by ${t.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${t.why}`}}function h(t,s){return new Promise(o=>{t.once(s,(r,e)=>{o(r===null?{kind:"signalled",signal:e??"unknown"}:{kind:"exited",code:r})})})}function E({timeoutMs:t,signal:s}){let o=()=>{};return{reached:new Promise(e=>{const n=()=>{e({kind:"cancelled"})},c=setTimeout(()=>{e({kind:"timeout"})},Math.min(t,P));s?.addEventListener("abort",n,{once:!0}),o=()=>{clearTimeout(c),s?.removeEventListener("abort",n)}}),forget:o}}}),74974:((L,g,d)=>{d.r(g),d.d(g,{trustedEnvironment:()=>P,trustedPath:()=>v,trustedProgram:()=>p});var m=d(73024),f=d(76760),A=d(36624);const M=["/usr/bin","/bin","/usr/sbin","/sbin"],a=["tar","gtar","zstd"],$=new Map;function p(e,n){const c=JSON.stringify([e,..._.map(i=>n[i]??"")]);let u=$.get(c);if(u===void 0){const i=T(e,n);u=i===null?null:{path:i,identity:o(i)},$.set(c,u)}if(u===null)return null;if(o(u.path)!==u.identity)throw r(u.path);return u.path}function v(e){const n=["git",...a].flatMap(i=>{const l=p(i,e);return l===null?[]:[(0,f.dirname)(l)]}),c=[...new Set([...M,...n])],u=i=>!h(i);return[...c.filter(u),...c.filter(i=>!u(i))].join(f.delimiter)}function P(e){return{LC_ALL:"C",PATH:v(e)}}const _=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function T(e,n){const i=(n.PATH??"").split(f.delimiter).filter(w=>(0,f.isAbsolute)(w)).map(w=>(0,f.join)(w,e)).filter(S).filter(w=>!b(w,O(n))),l=n.HOME??"",R=i.filter(w=>l===""||l==="/"||!b(w,[l]));return R.find(w=>!h(w))??R[0]??i[0]??null}function O(e){return[e.GITHUB_WORKSPACE,e.RUNNER_TEMP,e.TMPDIR??"/tmp"].filter(n=>n!==void 0&&n!==""&&n!=="/")}function b(e,n){const c=(u,i)=>(u+f.sep).startsWith((0,f.resolve)(i)+f.sep);return n.some(u=>c((0,f.resolve)(e),u)||c((0,m.realpathSync)(e),u))}function S(e){try{return(0,m.accessSync)(e,m.constants.X_OK),(0,m.statSync)(e).isFile()}catch{return!1}}function h(e){return[...new Set([(0,f.resolve)(e),s(e)])].some(c=>E(c).some(t))}function E(e){const n=(0,f.dirname)(e);return n===e?[e]:[e,...E(n)]}function t(e){try{return(0,m.accessSync)(e,m.constants.W_OK),!0}catch{return!1}}function s(e){try{return(0,m.realpathSync)(e)}catch{return e}}function o(e){const{dev:n,ino:c,size:u,mtimeMs:i,ctimeMs:l}=(0,m.statSync)(e,{throwIfNoEntry:!1})??{};return[n,c,u,i,l].join(":")}function r(e){return new A.yo("infrastructure",`${e} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}})};export{y as id,I as ids,x as modules};
