const y=3685,I=[3685,4974,4025],k={24196:((L,v,d)=>{d.d(v,{$P:()=>a,iD:()=>A,sg:()=>h,wg:()=>_});var m=d(73024),f=d(9277),M=d(74974),P=d(78326);class a extends Error{}const h="/usr/sbin:/usr/bin:/sbin:/bin",p=3e4,g=5e3,T=1024*1024;async function _($){if(process.platform!=="linux")throw new a(`this works on Linux only, and this is ${process.platform}`);const[E=0,t=0]=[process.getuid?.(),process.getgid?.()],s={...$,PATH:h},o=E===0?[]:[O("sudo",s),"-n","--"],r=n=>{const[c,...u]=n,[i="",...l]=[...o,c.startsWith("/")?c:O(c,s),...u];return{file:i,args:l}};if(E!==0&&(await S(r(["true"]),g),!b()))throw new a("/proc hides other users' processes (hidepid)");const e=n=>O(n,s);return{owner:{uid:E,gid:t},program:e,command:r,run:(n,c,u=[])=>{const[i="sh",...l]=[...u,e("sh"),"-c",A(n),"ralph",...c];return S(r([i,...l]),p)}}}function A($){return`PATH=${h}; export PATH
${$}`}function b(){try{return(0,m.readFileSync)("/proc/1/status","utf8")!==""}catch{return!1}}function O($,E){const t=(0,M.trustedProgram)($,E);if(t===null)throw new a(`\`${$}\` is not installed`);return t}async function S({file:$,args:E},t){const{end:s,stdout:o,stderr:r}=await(0,f.collectOutput)({file:$,args:E,cwd:"/",environment:{LC_ALL:"C",PATH:h},input:"",timeoutMs:t,family:{kind:"group",graceMs:0,leftover:"end"}},T);if(s.kind==="exited"&&s.code===0)return o.toString();const e=r.toString().trim().split(`
`).at(-1)??"";throw new a(e===""?`a program ${(0,f.describeCollected)(s)}`:(0,P.TN)(e,200))}}),6598:((L,v,d)=>{d.d(v,{Ex:()=>T,IZ:()=>m,Nc:()=>_,Nd:()=>A,XI:()=>p,aI:()=>a,bh:()=>h,k9:()=>f,op:()=>g,t2:()=>b,zl:()=>M});const m=`
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
`,M=`
set -eu
from=$1 to=$2 top=$3 path=$4
[ -e "$path" ] || exit 0
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,P=`
left=$#
while [ $left -gt 0 ]; do
  set -- "$@" -path "$1" -prune -o
  shift
  left=$((left - 1))
done
for folder in /tmp /var/tmp /dev/shm; do
  [ -d "$folder" ] && find "$folder" -xdev -mindepth 1 "$@" -user "$uid" -prune -exec rm -rf -- {} + 2> /dev/null
done
`,a=`
uid=$1 home=$2; shift 2
${P}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,h=`
setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,p=`
for pid; do kill -KILL "$pid" 2> /dev/null; done
:
`,g=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs test -x "$path" && continue
  command -v setfacl > /dev/null || { echo "$path is closed to other users, and setfacl is not installed" >&2; exit 1; }
  setfacl -m "u:$uid:--x" -- "$path"
  echo "$path"
done
`,T=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,_=`
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
`,A=`
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
${P}
if [ -n "$name" ]; then userdel "$name" > /dev/null 2>&1; fi
if [ -n "$(ls -A "$room/session" 2> /dev/null)" ] && [ ! -e "$session" ]; then mv -- "$room/session" "$session"; fi
rm -rf -- "$room"
rmdir "$reservations/ralph-room-$uid" 2> /dev/null
[ ! -e "$room" ]
`}),9277:((L,v,d)=>{d.r(v),d.d(v,{collectOutput:()=>f,describeCollected:()=>M});var m=d(42841);async function f(a,h){const p=new AbortController,[g,T]=[P(h,p),P(h,p)],_=AbortSignal.any([p.signal,...a.signal==null?[]:[a.signal]]),A=await(0,m.mB)({...a,signal:_,outputs:[g.take,T.take]});return{end:p.signal.aborted?{kind:"too-much-output",maxBytes:h}:A,stdout:Buffer.concat(g.chunks),stderr:Buffer.concat(T.chunks)}}function M(a){return a.kind==="too-much-output"?`printed more than ${a.maxBytes/1024/1024} MiB`:(0,m.lA)(a)}function P(a,h){const p=[];let g=0;return{chunks:p,take:_=>{g+=_.length,g>a?h.abort():p.push(_)}}}}),14025:((L,v,d)=>{d.r(v),d.d(v,{RUN_TAG_NAME:()=>M,endTagged:()=>g,endTree:()=>p,membersOf:()=>_,parseStat:()=>S,sendToGroup:()=>T});var m=d(73024),f=d(58500);const M="RALPH_RUN_TAG",P=25,a=500,h=2e3;async function p(t,s){const o=new Set,r=new Set,e=performance.now()+s;for(let n=A(t,o);n.length>0;n=A(t,o)){const c=performance.now();if(c>=e+h)return;const u=n.some(i=>i===t.group);for(const i of n){const l=i===t.group?-i:i;c>=e?E(l,"SIGKILL"):!r.has(i)&&(i===t.group||!u)&&(E(l,"SIGTERM"),r.add(i))}await(0,f.setTimeout)(P)}}function g(t){return p({runTag:t,group:null},a)}function T(t,s){E(-t,s)}function _(t,s,o){const r=new Set(s.filter(e=>e.tagged||e.group===t.group||o.has(b(e))).map(e=>e.pid));for(let e=-1;e<r.size;){e=r.size;for(const n of s)r.has(n.parent)&&r.add(n.pid)}return s.filter(e=>r.has(e.pid))}function A(t,s){if(process.platform!=="linux")return t.group!==null&&E(-t.group,0)?[t.group]:[];const o=_(t,O(t.runTag),s).filter(r=>r.pid!==process.pid&&r.pid!==1);for(const r of o)s.add(b(r));return o.map(r=>r.pid)}function b(t){return`${t.pid}:${t.startedAt}`}function O(t){const s=Buffer.from(`${M}=${t}`);return(0,m.readdirSync)("/proc").filter(o=>/^\d+$/.test(o)).flatMap(o=>{const r=S($(`/proc/${o}/stat`).toString());return r===null?[]:[{...r,tagged:t!==null&&$(`/proc/${o}/environ`).includes(s)}]})}function S(t){const s=t.slice(t.lastIndexOf(")")+2).split(" "),[o,r,e]=s,n=s[19];return o===void 0||r===void 0||e===void 0||n===void 0||/^[ZX]$/.test(o)?null:{pid:Number.parseInt(t,10),parent:Number(r),group:Number(e),startedAt:n}}function $(t){try{return(0,m.readFileSync)(t)}catch{return Buffer.alloc(0)}}function E(t,s){try{return process.kill(t,s)}catch{return!1}}}),42841:((L,v,d)=>{d.d(v,{Ap:()=>A,lA:()=>S,mB:()=>b});var m=d(57075),f=d(58500),M=d(46262),P=d(36624),a=d(14025);const h=3e3,p=500,g=1e3,T=2**31-1,_=new Set;process.on("exit",()=>{for(const t of _)(0,a.sendToGroup)(t,"SIGKILL")});function A({room:t,runTag:s}){return t===null?{kind:"run",runTag:s}:{kind:"room",room:t}}async function b(t){const{execa:s}=await d.e(6993).then(d.bind(d,16993));if(t.signal?.aborted===!0)return{kind:"cancelled"};const{family:o}=t,r=o.kind==="room"?await o.room.enter(t):t,e=s(r.file,r.args,{cwd:r.cwd,env:o.kind==="run"?{...t.environment,[a.RUN_TAG_NAME]:o.runTag}:r.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...t.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),n=e.pid;if(n===void 0){const{originalMessage:l,cause:R}=await e;return{kind:"not-started",why:l??"unknown reason",cause:R}}_.add(n);const c=$(e,"exit"),u=$(e,"close");t.outputs.forEach((l,R)=>e.stdio[R+1]?.on("data",l)),e.stdin.on("error",()=>{}),t.input instanceof m.Readable?t.input.pipe(e.stdin):t.input!==null&&e.stdin.end(t.input);const i=E(t);try{const l=o.kind==="group"&&o.leftover==="keep",R=await Promise.race([l?u:c,i.reached]),w=R.kind==="timeout"||R.kind==="cancelled";return l&&!w?R:o.kind==="group"&&!w?(await Promise.race([u,(0,f.setTimeout)(p,void 0,{ref:!1})]),(0,a.sendToGroup)(n,"SIGKILL"),R):(o.kind==="room"?O(await o.room.end(w?h:p)):o.kind==="run"?await(0,a.endTree)({runTag:o.runTag,group:n},w?h:p):await(0,a.endTree)({runTag:null,group:n},o.graceMs),await Promise.race([u,(0,f.setTimeout)(g,void 0,{ref:!1})]),R)}finally{i.forget(),_.delete(n);for(const l of e.stdio)l.destroy()}}function O(t){if(t.length>0)throw new P.yo("infrastructure",`Processes of the agent cannot be ended: ${(0,M.eZ)(t)}. What was finished before is published. Restart the runner.`)}function S(t){switch(t.kind){case"exited":return`ended with exit code ${t.code}`;case"signalled":return`was ended by ${t.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${t.why}`}}function $(t,s){return new Promise(o=>{t.once(s,(r,e)=>{o(r===null?{kind:"signalled",signal:e??"unknown"}:{kind:"exited",code:r})})})}function E({timeoutMs:t,signal:s}){let o=()=>{};return{reached:new Promise(e=>{const n=()=>{e({kind:"cancelled"})},c=setTimeout(()=>{e({kind:"timeout"})},Math.min(t,T));s?.addEventListener("abort",n,{once:!0}),o=()=>{clearTimeout(c),s?.removeEventListener("abort",n)}}),forget:o}}}),74974:((L,v,d)=>{d.r(v),d.d(v,{trustedEnvironment:()=>T,trustedPath:()=>g,trustedProgram:()=>p});var m=d(73024),f=d(76760),M=d(36624);const P=["/usr/bin","/bin","/usr/sbin","/sbin"],a=["tar","gtar","zstd"],h=new Map;function p(e,n){const c=JSON.stringify([e,..._.map(i=>n[i]??"")]);let u=h.get(c);if(u===void 0){const i=A(e,n);u=i===null?null:{path:i,identity:o(i)},h.set(c,u)}if(u===null)return null;if(o(u.path)!==u.identity)throw r(u.path);return u.path}function g(e){const n=["git",...a].flatMap(i=>{const l=p(i,e);return l===null?[]:[(0,f.dirname)(l)]}),c=[...new Set([...P,...n])],u=i=>!$(i);return[...c.filter(u),...c.filter(i=>!u(i))].join(f.delimiter)}function T(e){return{LC_ALL:"C",PATH:g(e)}}const _=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function A(e,n){const i=(n.PATH??"").split(f.delimiter).filter(w=>(0,f.isAbsolute)(w)).map(w=>(0,f.join)(w,e)).filter(S).filter(w=>!O(w,b(n))),l=n.HOME??"",R=i.filter(w=>l===""||l==="/"||!O(w,[l]));return R.find(w=>!$(w))??R[0]??i[0]??null}function b(e){return[e.GITHUB_WORKSPACE,e.RUNNER_TEMP,e.TMPDIR??"/tmp"].filter(n=>n!==void 0&&n!==""&&n!=="/")}function O(e,n){const c=(u,i)=>(u+f.sep).startsWith((0,f.resolve)(i)+f.sep);return n.some(u=>c((0,f.resolve)(e),u)||c((0,m.realpathSync)(e),u))}function S(e){try{return(0,m.accessSync)(e,m.constants.X_OK),(0,m.statSync)(e).isFile()}catch{return!1}}function $(e){return[...new Set([(0,f.resolve)(e),s(e)])].some(c=>E(c).some(t))}function E(e){const n=(0,f.dirname)(e);return n===e?[e]:[e,...E(n)]}function t(e){try{return(0,m.accessSync)(e,m.constants.W_OK),!0}catch{return!1}}function s(e){try{return(0,m.realpathSync)(e)}catch{return e}}function o(e){const{dev:n,ino:c,size:u,mtimeMs:i,ctimeMs:l}=(0,m.statSync)(e,{throwIfNoEntry:!1})??{};return[n,c,u,i,l].join(":")}function r(e){return new M.yo("infrastructure",`${e} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}})};export{y as id,I as ids,k as modules};
