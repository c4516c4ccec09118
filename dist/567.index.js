const y=567,x=[567,4974,4025,9277],k={49883:((S,A,d)=>{d.d(A,{T:()=>l,Y:()=>g});var p=d(73024),$=d(76760);const v=/^[A-Za-z_][A-Za-z0-9_]*$/;function g(E){const h=new Set;let _=0;return{write({cwd:T,environment:w},M){_+=1;const b=(0,$.join)(E,`launch-${String(_)}`),P=Object.entries(w).filter(([m,r])=>v.test(m)&&!r.includes("\0")).map(([m,r])=>`export ${m}=${l(r)}
`),n=`${M}cd -- ${l(T)} || exit 96
${P.join("")}exec "$@"
`;return(0,p.writeFileSync)(b,n,{flag:"wx",mode:416}),h.add(b),b},clear(){for(const T of h)(0,p.rmSync)(T,{force:!0});h.clear()}}}function l(E){return`'${E.replaceAll("'","'\\''")}'`}}),24196:((S,A,d)=>{d.d(A,{$P:()=>g,iD:()=>w,sg:()=>l,wg:()=>T});var p=d(9277),$=d(74974),v=d(78326);class g extends Error{}const l="/usr/sbin:/usr/bin:/sbin:/bin",E=3e4,h=5e3,_=1024*1024;async function T(P){if(process.platform!=="linux")throw new g(`this works on Linux only, and this is ${process.platform}`);const[n=0,m=0]=[process.getuid?.(),process.getgid?.()],r={...P,PATH:l},t=n===0?[]:[M("sudo",r),"-n","--"],o=s=>{const[a="",...e]=[...t,M(s[0],r),...s.slice(1)];return{file:a,args:e}};return n!==0&&await b(o(["true"]),h),{owner:{uid:n,gid:m},command:o,run:(s,a,e=[])=>{const[i="sh",...f]=[...e,"sh","-c",w(s),"ralph",...a];return b(o([i,...f]),E)}}}function w(P){return`PATH=${l}; export PATH
${P}`}function M(P,n){const m=(0,$.trustedProgram)(P,n);if(m===null)throw new g(`\`${P}\` is not installed`);return m}async function b({file:P,args:n},m){const{end:r,stdout:t,stderr:o}=await(0,p.collectOutput)({file:P,args:n,cwd:"/",environment:{LC_ALL:"C",PATH:l},input:"",timeoutMs:m,family:{kind:"group",graceMs:0,leftover:"end"}},_);if(r.kind==="exited"&&r.code===0)return t.toString();const s=o.toString().trim().split(`
`).at(-1)??"";throw new g(s===""?`a program ${(0,p.describeCollected)(r)}`:(0,v.TN)(s,200))}}),6598:((S,A,d)=>{d.d(A,{Ex:()=>_,IZ:()=>p,Nc:()=>T,Nd:()=>w,aI:()=>l,bh:()=>E,k9:()=>$,op:()=>h,t2:()=>M,zl:()=>v});const p=`
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
`,$=`
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
`,v=`
set -eu
from=$1 to=$2; shift 2
for path; do
  [ -e "$path" ] || continue
  chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
    find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
done
`,g=`
left=$#
while [ $left -gt 0 ]; do
  set -- "$@" -path "$1" -prune -o
  shift
  left=$((left - 1))
done
for folder in /tmp /var/tmp /dev/shm; do
  [ -d "$folder" ] && find "$folder" -xdev -mindepth 1 "$@" -user "$uid" -prune -exec rm -rf -- {} + 2> /dev/null
done
`,l=`
uid=$1 home=$2; shift 2
${g}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,E=`
setpriv --reuid="$1" --regid="$1" --clear-groups sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,h=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups test -x "$path" && continue
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
  nft -f - << RULES
table inet ralph_$uid {
  chain out {
    type filter hook output priority 0; policy accept;
    meta skuid $uid ip daddr 127.0.0.1 tcp dport { $ports } accept
    meta skuid $uid reject with icmpx type admin-prohibited
  }
}
RULES
  echo nft
  exit 0
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
`,w=`
uid=$1; shift
for path; do setfacl -x "u:$uid" -- "$path" 2> /dev/null; done
:
`,M=`
reservations=$1 uid=$2 name=$3 room=$4 session=$5; shift 5
if command -v nft > /dev/null; then nft delete table inet "ralph_$uid" 2> /dev/null; fi
for tables in iptables ip6tables; do
  command -v "$tables" > /dev/null || continue
  "$tables" -w 5 -D OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -F "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -X "RALPH_$uid" 2> /dev/null
done
${g}
if [ -n "$name" ]; then userdel "$name" > /dev/null 2>&1; fi
if [ -n "$(ls -A "$room/session" 2> /dev/null)" ] && [ ! -e "$session" ]; then mv -- "$room/session" "$session"; fi
rm -rf -- "$room"
rmdir "$reservations/ralph-room-$uid" 2> /dev/null
[ ! -e "$room" ]
`}),9277:((S,A,d)=>{d.r(A),d.d(A,{collectOutput:()=>$,describeCollected:()=>v});var p=d(42841);async function $(l,E){const h=new AbortController,[_,T]=[g(E,h),g(E,h)],w=AbortSignal.any([h.signal,...l.signal==null?[]:[l.signal]]),M=await(0,p.mB)({...l,signal:w,outputs:[_.take,T.take]});return{end:h.signal.aborted?{kind:"too-much-output",maxBytes:E}:M,stdout:Buffer.concat(_.chunks),stderr:Buffer.concat(T.chunks)}}function v(l){return l.kind==="too-much-output"?`printed more than ${l.maxBytes/1024/1024} MiB`:(0,p.lA)(l)}function g(l,E){const h=[];let _=0;return{chunks:h,take:w=>{_+=w.length,_>l?E.abort():h.push(w)}}}}),14025:((S,A,d)=>{d.r(A),d.d(A,{RUN_TAG_NAME:()=>v,endTagged:()=>_,endTree:()=>h,membersOf:()=>w,parseStat:()=>n,sendToGroup:()=>T});var p=d(73024),$=d(58500);const v="RALPH_RUN_TAG",g=25,l=500,E=2e3;async function h(t,o){const s=new Set,a=new Set,e=performance.now()+o;for(let i=M(t,s);i.length>0;i=M(t,s)){const f=performance.now();if(f>=e+E)return;const c=i.some(u=>u===t.group);for(const u of i){const R=u===t.group?-u:u;f>=e?r(R,"SIGKILL"):!a.has(u)&&(u===t.group||!c)&&(r(R,"SIGTERM"),a.add(u))}await(0,$.setTimeout)(g)}}function _(t){return h({runTag:t,group:null},l)}function T(t,o){r(-t,o)}function w(t,o,s){const a=new Set(o.filter(e=>e.tagged||e.group===t.group||s.has(b(e))).map(e=>e.pid));for(let e=-1;e<a.size;){e=a.size;for(const i of o)a.has(i.parent)&&a.add(i.pid)}return o.filter(e=>a.has(e.pid))}function M(t,o){if(process.platform!=="linux")return t.group!==null&&r(-t.group,0)?[t.group]:[];const s=w(t,P(t.runTag),o).filter(a=>a.pid!==process.pid&&a.pid!==1);for(const a of s)o.add(b(a));return s.map(a=>a.pid)}function b(t){return`${t.pid}:${t.startedAt}`}function P(t){const o=Buffer.from(`${v}=${t}`);return(0,p.readdirSync)("/proc").filter(s=>/^\d+$/.test(s)).flatMap(s=>{const a=n(m(`/proc/${s}/stat`).toString());return a===null?[]:[{...a,tagged:t!==null&&m(`/proc/${s}/environ`).includes(o)}]})}function n(t){const o=t.slice(t.lastIndexOf(")")+2).split(" "),[s,a,e]=o,i=o[19];return s===void 0||a===void 0||e===void 0||i===void 0||/^[ZX]$/.test(s)?null:{pid:Number.parseInt(t,10),parent:Number(a),group:Number(e),startedAt:i}}function m(t){try{return(0,p.readFileSync)(t)}catch{return Buffer.alloc(0)}}function r(t,o){try{return process.kill(t,o)}catch{return!1}}}),42841:((S,A,d)=>{d.d(A,{Ap:()=>T,lA:()=>M,mB:()=>w});var p=d(57075),$=d(58500),v=d(14025);const g=3e3,l=500,E=1e3,h=2**31-1,_=new Set;process.on("exit",()=>{for(const n of _)(0,v.sendToGroup)(n,"SIGKILL")});function T({room:n,runTag:m}){return n===null?{kind:"run",runTag:m}:{kind:"room",room:n}}async function w(n){const{execa:m}=await d.e(6993).then(d.bind(d,16993));if(n.signal?.aborted===!0)return{kind:"cancelled"};const{family:r}=n,t=r.kind==="room"?await r.room.enter(n):n,o=m(t.file,t.args,{cwd:t.cwd,env:r.kind==="run"?{...n.environment,[v.RUN_TAG_NAME]:r.runTag}:t.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...n.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),s=o.pid;if(s===void 0){const{originalMessage:f,cause:c}=await o;return{kind:"not-started",why:f??"unknown reason",cause:c}}_.add(s);const a=b(o,"exit"),e=b(o,"close");n.outputs.forEach((f,c)=>o.stdio[c+1]?.on("data",f)),o.stdin.on("error",()=>{}),n.input instanceof p.Readable?n.input.pipe(o.stdin):n.input!==null&&o.stdin.end(n.input);const i=P(n);try{const f=r.kind==="group"&&r.leftover==="keep",c=await Promise.race([f?e:a,i.reached]),u=c.kind==="timeout"||c.kind==="cancelled";return f&&!u?c:r.kind==="group"&&!u?(await Promise.race([e,(0,$.setTimeout)(l,void 0,{ref:!1})]),(0,v.sendToGroup)(s,"SIGKILL"),c):(r.kind==="room"?await r.room.end(u?g:l):r.kind==="run"?await(0,v.endTree)({runTag:r.runTag,group:s},u?g:l):await(0,v.endTree)({runTag:null,group:s},r.graceMs),await Promise.race([e,(0,$.setTimeout)(E,void 0,{ref:!1})]),c)}finally{i.forget(),_.delete(s);for(const f of o.stdio)f.destroy()}}function M(n){switch(n.kind){case"exited":return`ended with exit code ${n.code}`;case"signalled":return`was ended by ${n.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${n.why}`}}function b(n,m){return new Promise(r=>{n.once(m,(t,o)=>{r(t===null?{kind:"signalled",signal:o??"unknown"}:{kind:"exited",code:t})})})}function P({timeoutMs:n,signal:m}){let r=()=>{};return{reached:new Promise(o=>{const s=()=>{o({kind:"cancelled"})},a=setTimeout(()=>{o({kind:"timeout"})},Math.min(n,h));m?.addEventListener("abort",s,{once:!0}),r=()=>{clearTimeout(a),m?.removeEventListener("abort",s)}}),forget:r}}}),74974:((S,A,d)=>{d.r(A),d.d(A,{trustedEnvironment:()=>T,trustedPath:()=>_,trustedProgram:()=>h});var p=d(73024),$=d(76760),v=d(36624);const g=["/usr/bin","/bin","/usr/sbin","/sbin"],l=["tar","gtar","zstd"],E=new Map;function h(e,i){const f=JSON.stringify([e,...w.map(u=>i[u]??"")]);let c=E.get(f);if(c===void 0){const u=M(e,i);c=u===null?null:{path:u,identity:s(u)},E.set(f,c)}if(c===null)return null;if(s(c.path)!==c.identity)throw a(c.path);return c.path}function _(e){const i=["git",...l].flatMap(u=>{const R=h(u,e);return R===null?[]:[(0,$.dirname)(R)]}),f=[...new Set([...g,...i])],c=u=>!m(u);return[...f.filter(c),...f.filter(u=>!c(u))].join($.delimiter)}function T(e){return{LC_ALL:"C",PATH:_(e)}}const w=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function M(e,i){const u=(i.PATH??"").split($.delimiter).filter(O=>(0,$.isAbsolute)(O)).map(O=>(0,$.join)(O,e)).filter(n).filter(O=>!P(O,b(i))),R=i.HOME??"",L=u.filter(O=>R===""||R==="/"||!P(O,[R]));return L.find(O=>!m(O))??L[0]??u[0]??null}function b(e){return[e.GITHUB_WORKSPACE,e.RUNNER_TEMP,e.TMPDIR??"/tmp"].filter(i=>i!==void 0&&i!==""&&i!=="/")}function P(e,i){const f=(c,u)=>(c+$.sep).startsWith((0,$.resolve)(u)+$.sep);return i.some(c=>f((0,$.resolve)(e),c)||f((0,p.realpathSync)(e),c))}function n(e){try{return(0,p.accessSync)(e,p.constants.X_OK),(0,p.statSync)(e).isFile()}catch{return!1}}function m(e){return[...new Set([(0,$.resolve)(e),o(e)])].some(f=>r(f).some(t))}function r(e){const i=(0,$.dirname)(e);return i===e?[e]:[e,...r(i)]}function t(e){try{return(0,p.accessSync)(e,p.constants.W_OK),!0}catch{return!1}}function o(e){try{return(0,p.realpathSync)(e)}catch{return e}}function s(e){const{dev:i,ino:f,size:c,mtimeMs:u,ctimeMs:R}=(0,p.statSync)(e,{throwIfNoEntry:!1})??{};return[i,f,c,u,R].join(":")}function a(e){return new v.yo("infrastructure",`${e} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}})};export{y as id,x as ids,k as modules};
