const H=8368,F=[8368,4974,4025,9277],B={22835:((C,A,d)=>{d.d(A,{UO:()=>T,_z:()=>L,du:()=>E,lX:()=>$});const f=new Set(["proc","sys","dev","run","tmp","lost+found"]),m=["/tmp","/var/tmp","/dev/shm"],$=["/home","/root","/mnt","/media","/srv","/boot","/var/log","/var/spool","/var/cache","/var/lib/docker","/var/lib/containerd","/var/backups"];function E(t,c){const n=t.top.filter(({name:o,kind:e})=>e==="folder"&&!f.has(o)).map(({name:o})=>`/${o}`),i=o=>m.some(e=>T(o,e)),l=[...n.map(o=>p(o,"ro")),...t.disks.filter(o=>o!=="/"&&!n.includes(o)&&n.some(e=>T(o,e))).map(o=>p(o,"ro")),p("/sys","ro"),...t.hidden.filter(o=>n.some(e=>T(o,e))&&!i(o)).map(o=>g(o,"755")),...m.map(o=>g(o,"1777")),...["/dev","/run"].map(o=>g(o,"755")),...t.readOnly.map(o=>p(o,"ro")),...t.writable.map(o=>p(o,"rw")),...Object.entries(t.replaced).map(([o,e])=>({kind:"bind",path:o,source:e,access:"ro"}))];return{links:t.top.filter(({name:o,kind:e})=>e==="link"&&!f.has(o)).map(({name:o,target:e})=>({path:`${c}/${o}`,target:e})),fstab:_(l).map(o=>`${w(o,c)}
`).join("")}}function p(t,c){return{kind:"bind",path:t,source:t,access:c}}function g(t,c){return{kind:"empty",path:t,mode:c}}function _(t){const c=n=>n.split("/").length;return[...new Map(t.map(n=>[n.path,n])).values()].sort((n,i)=>c(n.path)-c(i.path))}function w(t,c){const r=P(c+t.path);if(t.kind==="bind")return`${P(t.source)} ${r} none bind,${t.access},nosuid,nodev,X-mount.mkdir=0755 0 0`;const n=t.path==="/dev"?"":"nodev,";return`ralph ${r} tmpfs mode=${t.mode},nosuid,${n}X-mount.mkdir=0755 0 0`}function T(t,c){return t===c||t.startsWith(c==="/"?"/":`${c}/`)}function P(t){return t.replace(/[\s\\#]/g,c=>`\\${c.charCodeAt(0).toString(8).padStart(3,"0")}`)}const y=/^(ext[234]|xfs|btrfs|zfs|f2fs|overlay|squashfs|erofs|bcachefs|virtiofs|9p|nfs4?|fuse\.\w+)$/;function L(t){return t.split(`
`).flatMap(c=>{const[r="",n=""]=c.split(" - "),i=r.split(" ")[4];return i!==void 0&&y.test(n.split(" ")[0]??"")?[b(i)]:[]})}function b(t){return t.replace(/\\([0-7]{3})/g,(c,r)=>String.fromCharCode(Number.parseInt(r,8)))}}),89301:((C,A,d)=>{d.d(A,{$i:()=>t,dB:()=>c,yR:()=>h,PX:()=>u,Sg:()=>e});var f=d(73024),m=d(76760),$=d(57075),E=d(58500),p=d(78326),g=d(22835),_=d(14025);async function w({file:s,args:a,timeoutMs:O},k){const{execa:M}=await d.e(6993).then(d.bind(d,16993)),v=[],S=M(s,a,{cwd:"/",env:{LC_ALL:"C",NODE_CHANNEL_FD:"0"},extendEnv:!1,detached:!0,stdio:["ipc","ignore","ignore"],serialization:"json",reject:!1,buffer:!1}),x=new Promise(D=>{S.on("message",(I,N)=>{N!==void 0&&v.push(N),v.length===k&&D(!0)}),S.once("exit",()=>{D(!1)}),S.once("error",()=>{D(!1)})});try{if(await Promise.race([x,(0,E.setTimeout)(O,!1,{ref:!1})]))return v;for(const I of v)I.close();throw new Error(`only ${String(v.length)} of ${String(k)} sockets came`)}finally{S.connected&&S.disconnect(),S.pid!==void 0&&(0,_.sendToGroup)(S.pid,"SIGKILL")}}var T=d(42841),P=d(24196),y=d(6598);const L=15e3,b=3e3,t=`[ -e /run/ralph-room ] || exit 97
`;async function c({root:s,record:a,runFolder:O},k,M){const v=(0,m.join)(a.folder,"root"),S=(0,g.du)(i(k,{...a,runFolder:O}),v),x=(0,m.join)(O,"room.fstab");(0,f.writeFileSync)(x,S.fstab,{mode:384});const D=S.links.flatMap(({path:U,target:W})=>[U,W]),I=await r(s,[x,v,...D]),N=["nsenter","--target",I.pid];try{return{way:[...N,"--mount","--pid","--ipc","--uts","--net","--"],listeners:await n(s,[...N,"--net","--"],{...k,count:M}),lost:I.lost,end:I.end}}catch(U){throw await I.end(),U}}async function r(s,a){const{file:O,args:k}=s.command(["unshare","--mount","--propagation","private","--pid","--ipc","--uts","--net","--fork","--kill-child=KILL","--",(0,f.existsSync)("/bin/bash")?"bash":"sh","-c",(0,P.iD)(y.k9),"ralph-room",...a]),M=new $.PassThrough,v=Promise.withResolvers();let S="",x=!1;const D=(0,T.mB)({file:O,args:k,cwd:"/",environment:{LC_ALL:"C",PATH:P.sg},input:M,timeoutMs:Number.MAX_SAFE_INTEGER,signal:null,family:{kind:"group",graceMs:0,leftover:"end"},outputs:[U=>{v.resolve(U.toString().trim())},U=>{S=(S+U.toString()).slice(-2e3)}]}).then(()=>{x=!0,v.resolve("")}),I=async()=>{M.end(),await Promise.race([D,(0,E.setTimeout)(b,void 0,{ref:!1})])},N=await Promise.race([v.promise,(0,E.setTimeout)(L,"",{ref:!1})]);if(/^\d+$/.test(N))return{pid:N,end:I,lost:()=>x?"The room of the agent was ended while the run used it, by another program on this machine. What was finished before is published. Re-run the workflow.":null};throw await I(),new P.$P((0,p.TN)(S.trim().split(`
`)[0]??"",200)||"namespaces could not be made in time")}async function n(s,a,{worker:O,count:k}){const M=["setpriv",`--reuid=${String(s.owner.uid)}`,`--regid=${String(s.owner.gid)}`,"--clear-groups","--no-new-privs","env","-i","NODE_CHANNEL_FD=0",O.file,...O.args,"listen",String(k)],v={...s.command([...a,...M]),timeoutMs:L};return w(v,k).catch(S=>{throw new P.$P(`the room's network cannot be listened in (${String(S)})`)})}function i({workFolders:s,hidden:a,visible:O,worker:k,environment:M},{folder:v,uid:S,runFolder:x}){const D=R=>[...new Set(R.flatMap(u))],I=Object.fromEntries([["passwd",`ralph:x:${String(S)}:${String(S)}::${v}/home:/bin/sh`],["group",`ralph:x:${String(S)}:`]].map(([R,K])=>{const j=(0,m.join)(v,"inbox",R);return(0,f.writeFileSync)(j,`${h(`/etc/${R}`)}
${K}
`,{mode:420}),[`/etc/${R}`,j]})),N=D([...O,(0,m.dirname)(k.file),...k.args.filter(R=>R.startsWith("/")).map(m.dirname),...e(M)]),U=[...D(s),...["home","session","clones","inbox"].map(R=>`${v}/${R}`)],W=D([...g.lX,...a,x,...[...U,...N].flatMap(l)]);return{top:(0,f.readdirSync)("/",{withFileTypes:!0}).map(R=>{const K=`/${R.name}`;return R.isSymbolicLink()?{name:R.name,kind:"link",target:(0,f.readlinkSync)(K)}:{name:R.name,kind:R.isDirectory()?"folder":"other",target:""}}),disks:(0,g._z)(h("/proc/self/mountinfo")).filter(R=>u(R).length>0),hidden:W,readOnly:[...N.filter(R=>W.some(K=>(0,g.UO)(R,K))||o(R)),`${v}/inbox`],writable:[...D(s),`${v}/home`,`${v}/session`,`${v}/clones`],replaced:I}}function l(s){const a=(0,m.dirname)(s);if(a===s)return[];const O=l(a);return O.length===0&&(((0,f.statSync)(a,{throwIfNoEntry:!1})?.mode??0)&1)===0?[a]:O}function o(s){return["/tmp","/var/tmp","/run","/dev/shm"].some(a=>(0,g.UO)(s,a))}function e(s){const a=s.HOME??"",k=(s.PATH??"").split(":").filter(v=>v.startsWith("/")).map(v=>{const S=(0,m.dirname)(v),x=S===a||S==="/"||/\/\.(local|cargo|config)$/.test(S);return v.endsWith("/bin")&&!x?S:v}),M=["RUSTUP_HOME","NVM_DIR","JAVA_HOME","GOROOT","DOTNET_ROOT","ANDROID_HOME","pythonLocation"];return[...k,...[...M,"RUNNER_TOOL_CACHE"].map(v=>s[v]??""),...a===""?[]:[(0,m.join)(a,".rustup")]].filter(v=>v!==a)}function u(s){try{const a=(0,f.realpathSync)(s);return s.startsWith("/")&&a!=="/"&&(0,f.statSync)(a).isDirectory()?[a]:[]}catch{return[]}}function h(s){try{return(0,f.readFileSync)(s,"utf8").trimEnd()}catch{return""}}}),24196:((C,A,d)=>{d.d(A,{$P:()=>E,iD:()=>P,sg:()=>p,wg:()=>T});var f=d(9277),m=d(74974),$=d(78326);class E extends Error{}const p="/usr/sbin:/usr/bin:/sbin:/bin",g=3e4,_=5e3,w=1024*1024;async function T(b){if(process.platform!=="linux")throw new E(`this works on Linux only, and this is ${process.platform}`);const[t=0,c=0]=[process.getuid?.(),process.getgid?.()],r={...b,PATH:p},n=t===0?[]:[y("sudo",r),"-n","--"],i=l=>{const[o="",...e]=[...n,y(l[0],r),...l.slice(1)];return{file:o,args:e}};return t!==0&&await L(i(["true"]),_),{owner:{uid:t,gid:c},command:i,run:(l,o,e=[])=>{const[u="sh",...h]=[...e,"sh","-c",P(l),"ralph",...o];return L(i([u,...h]),g)}}}function P(b){return`PATH=${p}; export PATH
${b}`}function y(b,t){const c=(0,m.trustedProgram)(b,t);if(c===null)throw new E(`\`${b}\` is not installed`);return c}async function L({file:b,args:t},c){const{end:r,stdout:n,stderr:i}=await(0,f.collectOutput)({file:b,args:t,cwd:"/",environment:{LC_ALL:"C",PATH:p},input:"",timeoutMs:c,family:{kind:"group",graceMs:0,leftover:"end"}},w);if(r.kind==="exited"&&r.code===0)return n.toString();const l=i.toString().trim().split(`
`).at(-1)??"";throw new E(l===""?`a program ${(0,f.describeCollected)(r)}`:(0,$.TN)(l,200))}}),6598:((C,A,d)=>{d.d(A,{Ex:()=>w,IZ:()=>f,Nc:()=>T,Nd:()=>P,aI:()=>p,bh:()=>g,k9:()=>m,op:()=>_,t2:()=>y,zl:()=>$});const f=`
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
`,m=`
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
`,$=`
set -eu
from=$1 to=$2 top=$3 path=$4
[ -e "$path" ] || exit 0
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,E=`
left=$#
while [ $left -gt 0 ]; do
  set -- "$@" -path "$1" -prune -o
  shift
  left=$((left - 1))
done
for folder in /tmp /var/tmp /dev/shm; do
  [ -d "$folder" ] && find "$folder" -xdev -mindepth 1 "$@" -user "$uid" -prune -exec rm -rf -- {} + 2> /dev/null
done
`,p=`
uid=$1 home=$2; shift 2
${E}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,g=`
setpriv --reuid="$1" --regid="$1" --clear-groups sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,_=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups test -x "$path" && continue
  command -v setfacl > /dev/null || { echo "$path is closed to other users, and setfacl is not installed" >&2; exit 1; }
  setfacl -m "u:$uid:--x" -- "$path"
  echo "$path"
done
`,w=`
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
`,P=`
uid=$1; shift
for path; do setfacl -x "u:$uid" -- "$path" 2> /dev/null; done
:
`,y=`
reservations=$1 uid=$2 name=$3 room=$4 session=$5; shift 5
if command -v nft > /dev/null; then nft delete table inet "ralph_$uid" 2> /dev/null; fi
for tables in iptables ip6tables; do
  command -v "$tables" > /dev/null || continue
  "$tables" -w 5 -D OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -F "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -X "RALPH_$uid" 2> /dev/null
done
${E}
if [ -n "$name" ]; then userdel "$name" > /dev/null 2>&1; fi
if [ -n "$(ls -A "$room/session" 2> /dev/null)" ] && [ ! -e "$session" ]; then mv -- "$room/session" "$session"; fi
rm -rf -- "$room"
rmdir "$reservations/ralph-room-$uid" 2> /dev/null
[ ! -e "$room" ]
`}),17258:((C,A,d)=>{d.d(A,{$h:()=>$,Lq:()=>E,lr:()=>f,yS:()=>m});const f="@anthropic-ai/sandbox-runtime",m="0.0.83",$={[f]:{version:m,integrity:"sha512-yEusORnVJrNseF/9fvjVYyk6tr79/aFbIB3T/X8p2puLZdaaiGNeYN50v0CE+1DT70v7XuzKOAnTivh1f5cksA==",dependencies:{"@pondwader/socks5-server":"^1.0.10",commander:"^12.1.0","node-forge":"^1.4.0",zod:"^3.25.0"}},"@pondwader/socks5-server":{version:"1.0.10",integrity:"sha512-bQY06wzzR8D2+vVCUoBsr5QS2U6UgPUQRmErNwtsuI6vLcyRKkafjkr3KxbtGFf9aBBIV2mcvlsKD1UYaIV+sg=="},commander:{version:"12.1.0",integrity:"sha512-Vw8qHK3bZM9y/P10u3Vib8o/DdkvA2OtPtZvD871QKjy74Wj1WSKFILMPRPSdUSx5RFK1arlJzEtA4PkFgnbuA=="},"node-forge":{version:"1.4.3",integrity:"sha512-P6wzfh6t70avmV8FrVEAd/36sOPJQ+hkaJVX1Laap9J/77m7M0eyozDvc8SwnDf4P7MP94gwbAAo0rg3YVXT+g=="},zod:{version:"3.25.76",integrity:"sha512-gzUt/qt81nXsFGKIFcC3YnfEAx5NkunCfnDlvuBSSFS02bcXu4Lmea0AFIUwbLWxWPx3d9p8S5QoaujKcNQxcQ=="}};function E(){const p={name:"ralph-sandbox-runtime",version:"0.0.0",dependencies:{[f]:m}},g=Object.fromEntries(Object.entries($).map(([w,T])=>[`node_modules/${w}`,T])),_={...p,lockfileVersion:3,requires:!0,packages:{"":p,...g}};return{"package.json":`${JSON.stringify({...p,private:!0})}
`,"package-lock.json":`${JSON.stringify(_)}
`}}}),9277:((C,A,d)=>{d.r(A),d.d(A,{collectOutput:()=>m,describeCollected:()=>$});var f=d(42841);async function m(p,g){const _=new AbortController,[w,T]=[E(g,_),E(g,_)],P=AbortSignal.any([_.signal,...p.signal==null?[]:[p.signal]]),y=await(0,f.mB)({...p,signal:P,outputs:[w.take,T.take]});return{end:_.signal.aborted?{kind:"too-much-output",maxBytes:g}:y,stdout:Buffer.concat(w.chunks),stderr:Buffer.concat(T.chunks)}}function $(p){return p.kind==="too-much-output"?`printed more than ${p.maxBytes/1024/1024} MiB`:(0,f.lA)(p)}function E(p,g){const _=[];let w=0;return{chunks:_,take:P=>{w+=P.length,w>p?g.abort():_.push(P)}}}}),14025:((C,A,d)=>{d.r(A),d.d(A,{RUN_TAG_NAME:()=>$,endTagged:()=>w,endTree:()=>_,membersOf:()=>P,parseStat:()=>t,sendToGroup:()=>T});var f=d(73024),m=d(58500);const $="RALPH_RUN_TAG",E=25,p=500,g=2e3;async function _(n,i){const l=new Set,o=new Set,e=performance.now()+i;for(let u=y(n,l);u.length>0;u=y(n,l)){const h=performance.now();if(h>=e+g)return;const s=u.some(a=>a===n.group);for(const a of u){const O=a===n.group?-a:a;h>=e?r(O,"SIGKILL"):!o.has(a)&&(a===n.group||!s)&&(r(O,"SIGTERM"),o.add(a))}await(0,m.setTimeout)(E)}}function w(n){return _({runTag:n,group:null},p)}function T(n,i){r(-n,i)}function P(n,i,l){const o=new Set(i.filter(e=>e.tagged||e.group===n.group||l.has(L(e))).map(e=>e.pid));for(let e=-1;e<o.size;){e=o.size;for(const u of i)o.has(u.parent)&&o.add(u.pid)}return i.filter(e=>o.has(e.pid))}function y(n,i){if(process.platform!=="linux")return n.group!==null&&r(-n.group,0)?[n.group]:[];const l=P(n,b(n.runTag),i).filter(o=>o.pid!==process.pid&&o.pid!==1);for(const o of l)i.add(L(o));return l.map(o=>o.pid)}function L(n){return`${n.pid}:${n.startedAt}`}function b(n){const i=Buffer.from(`${$}=${n}`);return(0,f.readdirSync)("/proc").filter(l=>/^\d+$/.test(l)).flatMap(l=>{const o=t(c(`/proc/${l}/stat`).toString());return o===null?[]:[{...o,tagged:n!==null&&c(`/proc/${l}/environ`).includes(i)}]})}function t(n){const i=n.slice(n.lastIndexOf(")")+2).split(" "),[l,o,e]=i,u=i[19];return l===void 0||o===void 0||e===void 0||u===void 0||/^[ZX]$/.test(l)?null:{pid:Number.parseInt(n,10),parent:Number(o),group:Number(e),startedAt:u}}function c(n){try{return(0,f.readFileSync)(n)}catch{return Buffer.alloc(0)}}function r(n,i){try{return process.kill(n,i)}catch{return!1}}}),42841:((C,A,d)=>{d.d(A,{Ap:()=>T,lA:()=>y,mB:()=>P});var f=d(57075),m=d(58500),$=d(14025);const E=3e3,p=500,g=1e3,_=2**31-1,w=new Set;process.on("exit",()=>{for(const t of w)(0,$.sendToGroup)(t,"SIGKILL")});function T({room:t,runTag:c}){return t===null?{kind:"run",runTag:c}:{kind:"room",room:t}}async function P(t){const{execa:c}=await d.e(6993).then(d.bind(d,16993));if(t.signal?.aborted===!0)return{kind:"cancelled"};const{family:r}=t,n=r.kind==="room"?await r.room.enter(t):t,i=c(n.file,n.args,{cwd:n.cwd,env:r.kind==="run"?{...t.environment,[$.RUN_TAG_NAME]:r.runTag}:n.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...t.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),l=i.pid;if(l===void 0){const{originalMessage:h,cause:s}=await i;return{kind:"not-started",why:h??"unknown reason",cause:s}}w.add(l);const o=L(i,"exit"),e=L(i,"close");t.outputs.forEach((h,s)=>i.stdio[s+1]?.on("data",h)),i.stdin.on("error",()=>{}),t.input instanceof f.Readable?t.input.pipe(i.stdin):t.input!==null&&i.stdin.end(t.input);const u=b(t);try{const h=r.kind==="group"&&r.leftover==="keep",s=await Promise.race([h?e:o,u.reached]),a=s.kind==="timeout"||s.kind==="cancelled";return h&&!a?s:r.kind==="group"&&!a?(await Promise.race([e,(0,m.setTimeout)(p,void 0,{ref:!1})]),(0,$.sendToGroup)(l,"SIGKILL"),s):(r.kind==="room"?await r.room.end(a?E:p):r.kind==="run"?await(0,$.endTree)({runTag:r.runTag,group:l},a?E:p):await(0,$.endTree)({runTag:null,group:l},r.graceMs),await Promise.race([e,(0,m.setTimeout)(g,void 0,{ref:!1})]),s)}finally{u.forget(),w.delete(l);for(const h of i.stdio)h.destroy()}}function y(t){switch(t.kind){case"exited":return`ended with exit code ${t.code}`;case"signalled":return`was ended by ${t.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${t.why}`}}function L(t,c){return new Promise(r=>{t.once(c,(n,i)=>{r(n===null?{kind:"signalled",signal:i??"unknown"}:{kind:"exited",code:n})})})}function b({timeoutMs:t,signal:c}){let r=()=>{};return{reached:new Promise(i=>{const l=()=>{i({kind:"cancelled"})},o=setTimeout(()=>{i({kind:"timeout"})},Math.min(t,_));c?.addEventListener("abort",l,{once:!0}),r=()=>{clearTimeout(o),c?.removeEventListener("abort",l)}}),forget:r}}}),74974:((C,A,d)=>{d.r(A),d.d(A,{trustedEnvironment:()=>T,trustedPath:()=>w,trustedProgram:()=>_});var f=d(73024),m=d(76760),$=d(36624);const E=["/usr/bin","/bin","/usr/sbin","/sbin"],p=["tar","gtar","zstd"],g=new Map;function _(e,u){const h=JSON.stringify([e,...P.map(a=>u[a]??"")]);let s=g.get(h);if(s===void 0){const a=y(e,u);s=a===null?null:{path:a,identity:l(a)},g.set(h,s)}if(s===null)return null;if(l(s.path)!==s.identity)throw o(s.path);return s.path}function w(e){const u=["git",...p].flatMap(a=>{const O=_(a,e);return O===null?[]:[(0,m.dirname)(O)]}),h=[...new Set([...E,...u])],s=a=>!c(a);return[...h.filter(s),...h.filter(a=>!s(a))].join(m.delimiter)}function T(e){return{LC_ALL:"C",PATH:w(e)}}const P=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function y(e,u){const a=(u.PATH??"").split(m.delimiter).filter(M=>(0,m.isAbsolute)(M)).map(M=>(0,m.join)(M,e)).filter(t).filter(M=>!b(M,L(u))),O=u.HOME??"",k=a.filter(M=>O===""||O==="/"||!b(M,[O]));return k.find(M=>!c(M))??k[0]??a[0]??null}function L(e){return[e.GITHUB_WORKSPACE,e.RUNNER_TEMP,e.TMPDIR??"/tmp"].filter(u=>u!==void 0&&u!==""&&u!=="/")}function b(e,u){const h=(s,a)=>(s+m.sep).startsWith((0,m.resolve)(a)+m.sep);return u.some(s=>h((0,m.resolve)(e),s)||h((0,f.realpathSync)(e),s))}function t(e){try{return(0,f.accessSync)(e,f.constants.X_OK),(0,f.statSync)(e).isFile()}catch{return!1}}function c(e){return[...new Set([(0,m.resolve)(e),i(e)])].some(h=>r(h).some(n))}function r(e){const u=(0,m.dirname)(e);return u===e?[e]:[e,...r(u)]}function n(e){try{return(0,f.accessSync)(e,f.constants.W_OK),!0}catch{return!1}}function i(e){try{return(0,f.realpathSync)(e)}catch{return e}}function l(e){const{dev:u,ino:h,size:s,mtimeMs:a,ctimeMs:O}=(0,f.statSync)(e,{throwIfNoEntry:!1})??{};return[u,h,s,a,O].join(":")}function o(e){return new $.yo("infrastructure",`${e} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}}),58368:((C,A,d)=>{d.r(A),d.d(A,{ROOM_PLACES:()=>_,installFolder:()=>w,isHiddenFolder:()=>c,roomOptions:()=>y,roomWorker:()=>P,runtimeFolder:()=>T});var f=d(73024),m=d(48161),$=d(76760),E=d(22835),p=d(89301),g=d(17258);const _={rooms:"/var/tmp",reservations:"/run"};function w({config:r,context:n,environment:i}){return(0,$.join)(i.RUNNER_TOOL_CACHE??n.temp,"ralph-action",`claude-code-${r.agent.version}`)}function T(r){return(0,$.join)((0,$.dirname)(w(r)),`sandbox-runtime-${g.yS}`)}function P(r){return{file:process.execPath,args:[(0,$.join)(r,"dist","room-worker.js")]}}function y(r){const{environment:n,context:i,runFolder:l,actionFolder:o,config:e}=r,u=(0,$.dirname)(w(r));e.agent.path===null&&(0,f.mkdirSync)(u,{recursive:!0});const h=(0,$.dirname)(i.temp);return{environment:n,runFolder:l,workFolders:[i.workspace],hidden:[(0,m.homedir)(),n.HOME??"",i.temp,...L(h)?[h]:[]],visible:[(0,$.join)(o,"dist"),(0,$.dirname)(process.execPath),...e.agent.path===null?[u]:b(e.agent.path)],worker:P(o),places:_}}function L(r){return!["/","/tmp","/var","/usr","/opt","/etc","/var/tmp","/dev/shm","/home"].includes(r)}function b(r){const n=t(r),i=/^(.*\/node_modules)\//.exec(n)?.[1];return[(0,$.dirname)(r),i??(0,$.dirname)(n)]}function t(r){try{return(0,f.realpathSync)(r)}catch{return r}}function c(r,{hidden:n,visible:i,workFolders:l,environment:o}){const e=[...i,...l,...(0,p.Sg)(o)],u=h=>h.some(s=>s!==""&&(0,E.UO)(r,s));return u([...E.lX,...n])&&!u(e)}})};export{H as id,F as ids,B as modules};
