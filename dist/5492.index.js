const j=5492,k=[5492,4974,4025,9277],N={79439:((y,w,n)=>{n.d(w,{L:()=>d,_:()=>$});var s=n(13798);const l=s.aig().int().nonnegative(),p=s.YjP().startsWith("/").max(4096),$={first:60706,last:61183},d=s.rej({version:s.euz(1),uid:s.aig().int().min($.first).max($.last),folder:p.regex(/\/ralph-room-[A-Za-z0-9]{8}$/),userName:s.YjP().regex(/^(ralph-\d+)?$/),given:s.YOg(s.rej({path:p,uid:l,gid:l})).max(20),opened:s.YOg(p).max(100),closed:s.YOg(s.rej({path:p,mode:s.aig().int().min(0).max(4095)})).max(10)})}),49883:((y,w,n)=>{n.d(w,{T:()=>d,Y:()=>$});var s=n(73024),l=n(76760);const p=/^[A-Za-z_][A-Za-z0-9_]*$/;function $(g){const h=new Set;let v=0;return{write({cwd:P,environment:M},T){v+=1;const R=(0,l.join)(g,`launch-${String(v)}`),O=Object.entries(M).filter(([E,u])=>p.test(E)&&!u.includes("\0")).map(([E,u])=>`export ${E}=${d(u)}
`),i=`${T}cd -- ${d(P)} || exit 96
${O.join("")}exec "$@"
`;return(0,s.writeFileSync)(R,i,{flag:"wx",mode:416}),h.add(R),R},clear(){for(const P of h)(0,s.rmSync)(P,{force:!0});h.clear()}}}function d(g){return`'${g.replaceAll("'","'\\''")}'`}}),87633:((y,w,n)=>{n.d(w,{L:()=>p});var s=n(73024),l=n(78326);function p(d){return(0,s.readdirSync)("/proc").flatMap(g=>{const h=/^\d+$/.test(g)?$(g):"",[,v=""]=/^Name:\t(.*)$/m.exec(h)??[],[,P="Z"]=/^State:\t(\w)/m.exec(h)??[],[,M=""]=/^Uid:\t(.*)$/m.exec(h)??[];return M.split("	").includes(String(d))&&!/[ZX]/.test(P)?[{pid:Number(g),name:(0,l.TN)(v,30)}]:[]})}function $(d){try{return(0,s.readFileSync)(`/proc/${d}/status`,"utf8")}catch{return""}}}),51117:((y,w,n)=>{n.d(w,{MU:()=>g,fy:()=>v,vu:()=>h});var s=n(73024),l=n(76760),p=n(79439),$=n(81557);const d="room.json";function g({runFolder:P},M){const T=(0,l.join)(P,`${d}.next`);(0,s.writeFileSync)(T,JSON.stringify(M),{mode:384}),(0,s.renameSync)(T,(0,l.join)(P,d))}function h({runFolder:P}){try{const M=p.L.safeParse((0,$.M)((0,s.readFileSync)((0,l.join)(P,d),"utf8")));return M.success?M.data:null}catch{return null}}function v({runFolder:P}){(0,s.rmSync)((0,l.join)(P,d),{force:!0})}}),35492:((y,w,n)=>{n.r(w),n.d(w,{removeRoom:()=>P});var s=n(73024),l=n(76760),p=n(51117),$=n(62721),d=n(24196),g=n(6598);const h="agent",v=500;async function P(M,{environment:T,places:R}){const O=(0,p.vu)({runFolder:M});if(O===null)return[];const i=await(0,d.wg)(T),{uid:E,given:u,closed:r}=O,c=await(0,$.w)(i,E,v);if(c.length>0)return c;for(const e of u)await(0,$.F5)(i,E,e);for(const e of r)(0,s.chmodSync)(e.path,e.mode);return O.opened.length>0&&await i.run(g.Nd,[String(E),...O.opened]),await i.run(g.t2,[R.reservations,String(E),O.userName,O.folder,(0,l.join)(M,h),...(0,$.Ov)(O)]),(0,p.fy)({runFolder:M}),[]}}),62721:((y,w,n)=>{n.d(w,{F5:()=>E,Ov:()=>u,dT:()=>i,w:()=>r});var s=n(51455),l=n(58500),p=n(36624),$=n(49883),d=n(87633),g=n(51117),h=n(24196),v=n(6598);const P=25,M=3e3,T=200,R=4096;function O(e){const o=String(e);return["prlimit","--core=0",`--nproc=${String(R)}`,"setpriv",`--reuid=${o}`,`--regid=${o}`,"--clear-groups","--no-new-privs","--inh-caps=-all","--ambient-caps=-all","--bounding-set=-all","--pdeathsig=KILL"]}function i(e){const{root:o,runFolder:t,way:a,guard:m,lost:_}=e,{uid:f,folder:S}=e.record,b={home:`${S}/home`,session:`${S}/session`,clones:`${S}/clones`,inbox:`${S}/inbox`},L=(0,$.Y)(b.inbox),U=`${String(f)}:${String(f)}`,K=(A,D)=>D.catch(I=>{throw new p.yo("infrastructure",`The files in ${A} cannot change hands between the runner and the isolated agent: ${String(I)}. Check the file system that they are on, or set \`isolation: none\`.`,{cause:I})});return{folders:b,enter:A=>{const D=_();if(D!==null)return Promise.reject(new p.yo("infrastructure",D));const I=L.write(A,m),[x="sh",...C]=[...a,...O(f),"env","-i","sh",I,A.file,...A.args],{file:B,args:W}=o.command([x,...C]);return Promise.resolve({file:B,args:W,cwd:"/",environment:{LC_ALL:"C",PATH:h.sg}})},end:async A=>{const D=await r(o,f,A);return L.clear(),D},refresh:async()=>{const A=`${b.clones}/ralph-home`;return await o.run(v.aI,[String(f),A,...u(e.record)],a),A},give:async A=>{const{given:D}=e.record,{uid:I,gid:x}=await(0,s.lstat)(A);D.some(C=>C.path===A)||(e.record={...e.record,given:[...D,{path:A,uid:I,gid:x}]}),(0,g.MU)({runFolder:t},e.record),await K(A,o.run(v.zl,[String(o.owner.uid),U,U,A]))},takeBack:async A=>{const{given:D}=e.record;for(const I of D)I.path===A&&await K(A,E(o,f,I));e.record={...e.record,given:D.filter(I=>I.path!==A)},(0,g.MU)({runFolder:t},e.record)}}}async function E(e,o,{path:t,...a}){const m=`${String(e.owner.uid)}:${String(e.owner.gid)}`;await e.run(v.zl,[String(o),m,`${String(a.uid)}:${String(a.gid)}`,t])}function u({folder:e,given:o}){return[e,...o.map(({path:t})=>t)].map(t=>t.replace(/[\\*?[\]]/g,"\\$&"))}async function r(e,o,t){if((0,d.L)(o).length===0)return[];await c(e,o,"TERM");const a=performance.now()+t;for(;(0,d.L)(o).length>0&&performance.now()<a;)await(0,l.setTimeout)(P);for(const m=a+M;(0,d.L)(o).length>0&&performance.now()<m;){await c(e,o,"KILL");const _=performance.now()+T;for(;(0,d.L)(o).length>0&&performance.now()<_;)await(0,l.setTimeout)(P)}return(0,d.L)(o).map(({name:m,pid:_})=>`${m} (${String(_)})`)}async function c(e,o,t){await e.run(v.bh,[String(o),t]).catch(()=>{})}}),24196:((y,w,n)=>{n.d(w,{$P:()=>$,iD:()=>M,sg:()=>d,wg:()=>P});var s=n(9277),l=n(74974),p=n(78326);class $ extends Error{}const d="/usr/sbin:/usr/bin:/sbin:/bin",g=3e4,h=5e3,v=1024*1024;async function P(O){if(process.platform!=="linux")throw new $(`this works on Linux only, and this is ${process.platform}`);const[i=0,E=0]=[process.getuid?.(),process.getgid?.()],u={...O,PATH:d},r=i===0?[]:[T("sudo",u),"-n","--"],c=e=>{const[o="",...t]=[...r,T(e[0],u),...e.slice(1)];return{file:o,args:t}};return i!==0&&await R(c(["true"]),h),{owner:{uid:i,gid:E},command:c,run:(e,o,t=[])=>{const[a="sh",...m]=[...t,"sh","-c",M(e),"ralph",...o];return R(c([a,...m]),g)}}}function M(O){return`PATH=${d}; export PATH
${O}`}function T(O,i){const E=(0,l.trustedProgram)(O,i);if(E===null)throw new $(`\`${O}\` is not installed`);return E}async function R({file:O,args:i},E){const{end:u,stdout:r,stderr:c}=await(0,s.collectOutput)({file:O,args:i,cwd:"/",environment:{LC_ALL:"C",PATH:d},input:"",timeoutMs:E,family:{kind:"group",graceMs:0,leftover:"end"}},v);if(u.kind==="exited"&&u.code===0)return r.toString();const e=c.toString().trim().split(`
`).at(-1)??"";throw new $(e===""?`a program ${(0,s.describeCollected)(u)}`:(0,p.TN)(e,200))}}),6598:((y,w,n)=>{n.d(w,{Ex:()=>v,IZ:()=>s,Nc:()=>P,Nd:()=>M,aI:()=>d,bh:()=>g,k9:()=>l,op:()=>h,t2:()=>T,zl:()=>p});const s=`
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
`,l=`
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
`,p=`
set -eu
from=$1 to=$2 top=$3 path=$4
[ -e "$path" ] || exit 0
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,$=`
left=$#
while [ $left -gt 0 ]; do
  set -- "$@" -path "$1" -prune -o
  shift
  left=$((left - 1))
done
for folder in /tmp /var/tmp /dev/shm; do
  [ -d "$folder" ] && find "$folder" -xdev -mindepth 1 "$@" -user "$uid" -prune -exec rm -rf -- {} + 2> /dev/null
done
`,d=`
uid=$1 home=$2; shift 2
${$}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,g=`
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
`,v=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,P=`
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
`,M=`
uid=$1; shift
for path; do setfacl -x "u:$uid" -- "$path" 2> /dev/null; done
:
`,T=`
reservations=$1 uid=$2 name=$3 room=$4 session=$5; shift 5
if command -v nft > /dev/null; then nft delete table inet "ralph_$uid" 2> /dev/null; fi
for tables in iptables ip6tables; do
  command -v "$tables" > /dev/null || continue
  "$tables" -w 5 -D OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -F "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -X "RALPH_$uid" 2> /dev/null
done
${$}
if [ -n "$name" ]; then userdel "$name" > /dev/null 2>&1; fi
if [ -n "$(ls -A "$room/session" 2> /dev/null)" ] && [ ! -e "$session" ]; then mv -- "$room/session" "$session"; fi
rm -rf -- "$room"
rmdir "$reservations/ralph-room-$uid" 2> /dev/null
[ ! -e "$room" ]
`}),9277:((y,w,n)=>{n.r(w),n.d(w,{collectOutput:()=>l,describeCollected:()=>p});var s=n(42841);async function l(d,g){const h=new AbortController,[v,P]=[$(g,h),$(g,h)],M=AbortSignal.any([h.signal,...d.signal==null?[]:[d.signal]]),T=await(0,s.mB)({...d,signal:M,outputs:[v.take,P.take]});return{end:h.signal.aborted?{kind:"too-much-output",maxBytes:g}:T,stdout:Buffer.concat(v.chunks),stderr:Buffer.concat(P.chunks)}}function p(d){return d.kind==="too-much-output"?`printed more than ${d.maxBytes/1024/1024} MiB`:(0,s.lA)(d)}function $(d,g){const h=[];let v=0;return{chunks:h,take:M=>{v+=M.length,v>d?g.abort():h.push(M)}}}}),14025:((y,w,n)=>{n.r(w),n.d(w,{RUN_TAG_NAME:()=>p,endTagged:()=>v,endTree:()=>h,membersOf:()=>M,parseStat:()=>i,sendToGroup:()=>P});var s=n(73024),l=n(58500);const p="RALPH_RUN_TAG",$=25,d=500,g=2e3;async function h(r,c){const e=new Set,o=new Set,t=performance.now()+c;for(let a=T(r,e);a.length>0;a=T(r,e)){const m=performance.now();if(m>=t+g)return;const _=a.some(f=>f===r.group);for(const f of a){const S=f===r.group?-f:f;m>=t?u(S,"SIGKILL"):!o.has(f)&&(f===r.group||!_)&&(u(S,"SIGTERM"),o.add(f))}await(0,l.setTimeout)($)}}function v(r){return h({runTag:r,group:null},d)}function P(r,c){u(-r,c)}function M(r,c,e){const o=new Set(c.filter(t=>t.tagged||t.group===r.group||e.has(R(t))).map(t=>t.pid));for(let t=-1;t<o.size;){t=o.size;for(const a of c)o.has(a.parent)&&o.add(a.pid)}return c.filter(t=>o.has(t.pid))}function T(r,c){if(process.platform!=="linux")return r.group!==null&&u(-r.group,0)?[r.group]:[];const e=M(r,O(r.runTag),c).filter(o=>o.pid!==process.pid&&o.pid!==1);for(const o of e)c.add(R(o));return e.map(o=>o.pid)}function R(r){return`${r.pid}:${r.startedAt}`}function O(r){const c=Buffer.from(`${p}=${r}`);return(0,s.readdirSync)("/proc").filter(e=>/^\d+$/.test(e)).flatMap(e=>{const o=i(E(`/proc/${e}/stat`).toString());return o===null?[]:[{...o,tagged:r!==null&&E(`/proc/${e}/environ`).includes(c)}]})}function i(r){const c=r.slice(r.lastIndexOf(")")+2).split(" "),[e,o,t]=c,a=c[19];return e===void 0||o===void 0||t===void 0||a===void 0||/^[ZX]$/.test(e)?null:{pid:Number.parseInt(r,10),parent:Number(o),group:Number(t),startedAt:a}}function E(r){try{return(0,s.readFileSync)(r)}catch{return Buffer.alloc(0)}}function u(r,c){try{return process.kill(r,c)}catch{return!1}}}),42841:((y,w,n)=>{n.d(w,{Ap:()=>P,lA:()=>T,mB:()=>M});var s=n(57075),l=n(58500),p=n(14025);const $=3e3,d=500,g=1e3,h=2**31-1,v=new Set;process.on("exit",()=>{for(const i of v)(0,p.sendToGroup)(i,"SIGKILL")});function P({room:i,runTag:E}){return i===null?{kind:"run",runTag:E}:{kind:"room",room:i}}async function M(i){const{execa:E}=await n.e(6993).then(n.bind(n,16993));if(i.signal?.aborted===!0)return{kind:"cancelled"};const{family:u}=i,r=u.kind==="room"?await u.room.enter(i):i,c=E(r.file,r.args,{cwd:r.cwd,env:u.kind==="run"?{...i.environment,[p.RUN_TAG_NAME]:u.runTag}:r.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...i.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),e=c.pid;if(e===void 0){const{originalMessage:m,cause:_}=await c;return{kind:"not-started",why:m??"unknown reason",cause:_}}v.add(e);const o=R(c,"exit"),t=R(c,"close");i.outputs.forEach((m,_)=>c.stdio[_+1]?.on("data",m)),c.stdin.on("error",()=>{}),i.input instanceof s.Readable?i.input.pipe(c.stdin):i.input!==null&&c.stdin.end(i.input);const a=O(i);try{const m=u.kind==="group"&&u.leftover==="keep",_=await Promise.race([m?t:o,a.reached]),f=_.kind==="timeout"||_.kind==="cancelled";return m&&!f?_:u.kind==="group"&&!f?(await Promise.race([t,(0,l.setTimeout)(d,void 0,{ref:!1})]),(0,p.sendToGroup)(e,"SIGKILL"),_):(u.kind==="room"?await u.room.end(f?$:d):u.kind==="run"?await(0,p.endTree)({runTag:u.runTag,group:e},f?$:d):await(0,p.endTree)({runTag:null,group:e},u.graceMs),await Promise.race([t,(0,l.setTimeout)(g,void 0,{ref:!1})]),_)}finally{a.forget(),v.delete(e);for(const m of c.stdio)m.destroy()}}function T(i){switch(i.kind){case"exited":return`ended with exit code ${i.code}`;case"signalled":return`was ended by ${i.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${i.why}`}}function R(i,E){return new Promise(u=>{i.once(E,(r,c)=>{u(r===null?{kind:"signalled",signal:c??"unknown"}:{kind:"exited",code:r})})})}function O({timeoutMs:i,signal:E}){let u=()=>{};return{reached:new Promise(c=>{const e=()=>{c({kind:"cancelled"})},o=setTimeout(()=>{c({kind:"timeout"})},Math.min(i,h));E?.addEventListener("abort",e,{once:!0}),u=()=>{clearTimeout(o),E?.removeEventListener("abort",e)}}),forget:u}}}),74974:((y,w,n)=>{n.r(w),n.d(w,{trustedEnvironment:()=>P,trustedPath:()=>v,trustedProgram:()=>h});var s=n(73024),l=n(76760),p=n(36624);const $=["/usr/bin","/bin","/usr/sbin","/sbin"],d=["tar","gtar","zstd"],g=new Map;function h(t,a){const m=JSON.stringify([t,...M.map(f=>a[f]??"")]);let _=g.get(m);if(_===void 0){const f=T(t,a);_=f===null?null:{path:f,identity:e(f)},g.set(m,_)}if(_===null)return null;if(e(_.path)!==_.identity)throw o(_.path);return _.path}function v(t){const a=["git",...d].flatMap(f=>{const S=h(f,t);return S===null?[]:[(0,l.dirname)(S)]}),m=[...new Set([...$,...a])],_=f=>!E(f);return[...m.filter(_),...m.filter(f=>!_(f))].join(l.delimiter)}function P(t){return{LC_ALL:"C",PATH:v(t)}}const M=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function T(t,a){const f=(a.PATH??"").split(l.delimiter).filter(L=>(0,l.isAbsolute)(L)).map(L=>(0,l.join)(L,t)).filter(i).filter(L=>!O(L,R(a))),S=a.HOME??"",b=f.filter(L=>S===""||S==="/"||!O(L,[S]));return b.find(L=>!E(L))??b[0]??f[0]??null}function R(t){return[t.GITHUB_WORKSPACE,t.RUNNER_TEMP,t.TMPDIR??"/tmp"].filter(a=>a!==void 0&&a!==""&&a!=="/")}function O(t,a){const m=(_,f)=>(_+l.sep).startsWith((0,l.resolve)(f)+l.sep);return a.some(_=>m((0,l.resolve)(t),_)||m((0,s.realpathSync)(t),_))}function i(t){try{return(0,s.accessSync)(t,s.constants.X_OK),(0,s.statSync)(t).isFile()}catch{return!1}}function E(t){return[...new Set([(0,l.resolve)(t),c(t)])].some(m=>u(m).some(r))}function u(t){const a=(0,l.dirname)(t);return a===t?[t]:[t,...u(a)]}function r(t){try{return(0,s.accessSync)(t,s.constants.W_OK),!0}catch{return!1}}function c(t){try{return(0,s.realpathSync)(t)}catch{return t}}function e(t){const{dev:a,ino:m,size:_,mtimeMs:f,ctimeMs:S}=(0,s.statSync)(t,{throwIfNoEntry:!1})??{};return[a,m,_,f,S].join(":")}function o(t){return new p.yo("infrastructure",`${t} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}})};export{j as id,k as ids,N as modules};
