const F=8368,H=[8368,4974,4025,9277],B={22835:((C,b,a)=>{a.d(b,{UO:()=>T,_z:()=>k,du:()=>E,lX:()=>$});const f=new Set(["proc","sys","dev","run","tmp","lost+found"]),m=["/tmp","/var/tmp","/dev/shm"],$=["/home","/root","/mnt","/media","/srv","/boot","/var/log","/var/spool","/var/cache","/var/lib/docker","/var/lib/containerd","/var/backups"];function E(t,c){const e=t.top.filter(({name:o,kind:n})=>n==="folder"&&!f.has(o)).map(({name:o})=>`/${o}`),s=o=>m.some(n=>T(o,n)),d=[...e.map(o=>p(o,"ro")),...t.disks.filter(o=>o!=="/"&&!e.includes(o)&&e.some(n=>T(o,n))).map(o=>p(o,"ro")),p("/sys","ro"),...t.hidden.filter(o=>e.some(n=>T(o,n))&&!s(o)).map(o=>g(o,"755")),...m.map(o=>g(o,"1777")),...["/dev","/run"].map(o=>g(o,"755")),...t.readOnly.map(o=>p(o,"ro")),...t.writable.map(o=>p(o,"rw")),...Object.entries(t.replaced).map(([o,n])=>({kind:"bind",path:o,source:n,access:"ro"}))];return{links:t.top.filter(({name:o,kind:n})=>n==="link"&&!f.has(o)).map(({name:o,target:n})=>({path:`${c}/${o}`,target:n})),fstab:_(d).map(o=>`${w(o,c)}
`).join("")}}function p(t,c){return{kind:"bind",path:t,source:t,access:c}}function g(t,c){return{kind:"empty",path:t,mode:c}}function _(t){const c=e=>e.split("/").length;return[...new Map(t.map(e=>[e.path,e])).values()].sort((e,s)=>c(e.path)-c(s.path))}function w(t,c){const l=P(c+t.path);if(t.kind==="bind")return`${P(t.source)} ${l} none bind,${t.access},nosuid,nodev,X-mount.mkdir=0755 0 0`;const e=t.path==="/dev"?"":"nodev,";return`ralph ${l} tmpfs mode=${t.mode},nosuid,${e}X-mount.mkdir=0755 0 0`}function T(t,c){return t===c||t.startsWith(c==="/"?"/":`${c}/`)}function P(t){return t.replace(/[\s\\#]/g,c=>`\\${c.charCodeAt(0).toString(8).padStart(3,"0")}`)}const y=/^(ext[234]|xfs|btrfs|zfs|f2fs|overlay|squashfs|erofs|bcachefs|virtiofs|9p|nfs4?|fuse\.\w+)$/;function k(t){return t.split(`
`).flatMap(c=>{const[l="",e=""]=c.split(" - "),s=l.split(" ")[4];return s!==void 0&&y.test(e.split(" ")[0]??"")?[A(s)]:[]})}function A(t){return t.replace(/\\([0-7]{3})/g,(c,l)=>String.fromCharCode(Number.parseInt(l,8)))}}),89301:((C,b,a)=>{a.d(b,{$i:()=>t,dB:()=>c,yR:()=>h,PX:()=>u,Sg:()=>n});var f=a(73024),m=a(76760),$=a(57075),E=a(58500),p=a(78326),g=a(22835),_=a(14025);async function w({file:r,args:i,timeoutMs:O},L){const{execa:M}=await a.e(6993).then(a.bind(a,16993)),v=[],S=M(r,i,{cwd:"/",env:{LC_ALL:"C",NODE_CHANNEL_FD:"0"},extendEnv:!1,detached:!0,stdio:["ipc","ignore","ignore"],serialization:"json",reject:!1,buffer:!1}),x=new Promise(D=>{S.on("message",(I,N)=>{N!==void 0&&v.push(N),v.length===L&&D(!0)}),S.once("exit",()=>{D(!1)}),S.once("error",()=>{D(!1)})});try{if(await Promise.race([x,(0,E.setTimeout)(O,!1,{ref:!1})]))return v;for(const I of v)I.close();throw new Error(`only ${String(v.length)} of ${String(L)} sockets came`)}finally{S.connected&&S.disconnect(),S.pid!==void 0&&(0,_.sendToGroup)(S.pid,"SIGKILL")}}var T=a(42841),P=a(24196),y=a(6598);const k=15e3,A=3e3,t=`[ -e /run/ralph-room ] || exit 97
`;async function c({root:r,record:i,runFolder:O},L,M){const v=(0,m.join)(i.folder,"root"),S=(0,g.du)(s(L,{...i,runFolder:O}),v),x=(0,m.join)(O,"room.fstab");(0,f.writeFileSync)(x,S.fstab,{mode:384});const D=S.links.flatMap(({path:U,target:W})=>[U,W]),I=await l(r,[x,v,...D]),N=["nsenter","--target",I.pid];try{return{way:[...N,"--mount","--pid","--ipc","--uts","--net","--"],listeners:await e(r,[...N,"--net","--"],{...L,count:M}),lost:I.lost,end:I.end}}catch(U){throw await I.end(),U}}async function l(r,i){const{file:O,args:L}=r.command(["unshare","--mount","--propagation","private","--pid","--ipc","--uts","--net","--fork","--kill-child=KILL","--",(0,f.existsSync)("/bin/bash")?"bash":"sh","-c",(0,P.iD)(y.k9),"ralph-room",...i]),M=new $.PassThrough,v=Promise.withResolvers();let S="",x=!1;const D=(0,T.mB)({file:O,args:L,cwd:"/",environment:{LC_ALL:"C",PATH:P.sg},input:M,timeoutMs:Number.MAX_SAFE_INTEGER,signal:null,family:{kind:"group",graceMs:0,leftover:"end"},outputs:[U=>{v.resolve(U.toString().trim())},U=>{S=(S+U.toString()).slice(-2e3)}]}).then(()=>{x=!0,v.resolve("")}),I=async()=>{M.end(),await Promise.race([D,(0,E.setTimeout)(A,void 0,{ref:!1})])},N=await Promise.race([v.promise,(0,E.setTimeout)(k,"",{ref:!1})]);if(/^\d+$/.test(N))return{pid:N,end:I,lost:()=>x?"The room of the agent was ended while the run used it, by another program on this machine. What was finished before is published. Re-run the workflow.":null};throw await I(),new P.$P((0,p.TN)(S.trim().split(`
`)[0]??"",200)||"namespaces could not be made in time")}async function e(r,i,{worker:O,count:L}){const M=["setpriv",`--reuid=${String(r.owner.uid)}`,`--regid=${String(r.owner.gid)}`,"--clear-groups","--no-new-privs","env","-i","NODE_CHANNEL_FD=0",O.file,...O.args,"listen",String(L)],v={...r.command([...i,...M]),timeoutMs:k};return w(v,L).catch(S=>{throw new P.$P(`the room's network cannot be listened in (${String(S)})`)})}function s({workFolders:r,hidden:i,visible:O,worker:L,environment:M},{folder:v,uid:S,runFolder:x}){const D=R=>[...new Set(R.flatMap(u))],I=Object.fromEntries([["passwd",`ralph:x:${String(S)}:${String(S)}::${v}/home:/bin/sh`],["group",`ralph:x:${String(S)}:`]].map(([R,K])=>{const j=(0,m.join)(v,"inbox",R);return(0,f.writeFileSync)(j,`${h(`/etc/${R}`)}
${K}
`,{mode:420}),[`/etc/${R}`,j]})),N=D([...O,(0,m.dirname)(L.file),...L.args.filter(R=>R.startsWith("/")).map(m.dirname),...n(M)]),U=[...D(r),...["home","session","clones","inbox"].map(R=>`${v}/${R}`)],W=D([...g.lX,...i,x,...[...U,...N].flatMap(d)]);return{top:(0,f.readdirSync)("/",{withFileTypes:!0}).map(R=>{const K=`/${R.name}`;return R.isSymbolicLink()?{name:R.name,kind:"link",target:(0,f.readlinkSync)(K)}:{name:R.name,kind:R.isDirectory()?"folder":"other",target:""}}),disks:(0,g._z)(h("/proc/self/mountinfo")).filter(R=>u(R).length>0),hidden:W,readOnly:[...N.filter(R=>W.some(K=>(0,g.UO)(R,K))||o(R)),`${v}/inbox`],writable:[...D(r),`${v}/home`,`${v}/session`,`${v}/clones`],replaced:I}}function d(r){const i=(0,m.dirname)(r);if(i===r)return[];const O=d(i);return O.length===0&&(((0,f.statSync)(i,{throwIfNoEntry:!1})?.mode??0)&1)===0?[i]:O}function o(r){return["/tmp","/var/tmp","/run","/dev/shm"].some(i=>(0,g.UO)(r,i))}function n(r){const i=r.HOME??"",L=(r.PATH??"").split(":").filter(v=>v.startsWith("/")).map(v=>{const S=(0,m.dirname)(v),x=S===i||S==="/"||/\/\.(local|cargo|config)$/.test(S);return v.endsWith("/bin")&&!x?S:v}),M=["RUSTUP_HOME","NVM_DIR","JAVA_HOME","GOROOT","DOTNET_ROOT","ANDROID_HOME","pythonLocation"];return[...L,...[...M,"RUNNER_TOOL_CACHE"].map(v=>r[v]??""),...i===""?[]:[(0,m.join)(i,".rustup")]].filter(v=>v!==i)}function u(r){try{const i=(0,f.realpathSync)(r);return r.startsWith("/")&&i!=="/"&&(0,f.statSync)(i).isDirectory()?[i]:[]}catch{return[]}}function h(r){try{return(0,f.readFileSync)(r,"utf8").trimEnd()}catch{return""}}}),24196:((C,b,a)=>{a.d(b,{$P:()=>E,iD:()=>P,sg:()=>p,wg:()=>T});var f=a(9277),m=a(74974),$=a(78326);class E extends Error{}const p="/usr/sbin:/usr/bin:/sbin:/bin",g=3e4,_=5e3,w=1024*1024;async function T(A){if(process.platform!=="linux")throw new E(`this works on Linux only, and this is ${process.platform}`);const[t=0,c=0]=[process.getuid?.(),process.getgid?.()],l={...A,PATH:p},e=t===0?[]:[y("sudo",l),"-n","--"],s=d=>{const[o="",...n]=[...e,y(d[0],l),...d.slice(1)];return{file:o,args:n}};return t!==0&&await k(s(["true"]),_),{owner:{uid:t,gid:c},command:s,run:(d,o,n=[])=>{const[u="sh",...h]=[...n,"sh","-c",P(d),"ralph",...o];return k(s([u,...h]),g)}}}function P(A){return`PATH=${p}; export PATH
${A}`}function y(A,t){const c=(0,m.trustedProgram)(A,t);if(c===null)throw new E(`\`${A}\` is not installed`);return c}async function k({file:A,args:t},c){const{end:l,stdout:e,stderr:s}=await(0,f.collectOutput)({file:A,args:t,cwd:"/",environment:{LC_ALL:"C",PATH:p},input:"",timeoutMs:c,family:{kind:"group",graceMs:0,leftover:"end"}},w);if(l.kind==="exited"&&l.code===0)return e.toString();const d=s.toString().trim().split(`
`).at(-1)??"";throw new E(d===""?`a program ${(0,f.describeCollected)(l)}`:(0,$.TN)(d,200))}}),6598:((C,b,a)=>{a.d(b,{Ex:()=>w,IZ:()=>f,Nc:()=>T,Nd:()=>P,aI:()=>p,bh:()=>g,k9:()=>m,op:()=>_,t2:()=>y,zl:()=>$});const f=`
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
`}),17258:((C,b,a)=>{a.d(b,{$h:()=>$,Lq:()=>E,lr:()=>f,yS:()=>m});const f="@anthropic-ai/sandbox-runtime",m="0.0.83",$={[f]:{version:m,integrity:"sha512-yEusORnVJrNseF/9fvjVYyk6tr79/aFbIB3T/X8p2puLZdaaiGNeYN50v0CE+1DT70v7XuzKOAnTivh1f5cksA==",dependencies:{"@pondwader/socks5-server":"^1.0.10",commander:"^12.1.0","node-forge":"^1.4.0",zod:"^3.25.0"}},"@pondwader/socks5-server":{version:"1.0.10",integrity:"sha512-bQY06wzzR8D2+vVCUoBsr5QS2U6UgPUQRmErNwtsuI6vLcyRKkafjkr3KxbtGFf9aBBIV2mcvlsKD1UYaIV+sg=="},commander:{version:"12.1.0",integrity:"sha512-Vw8qHK3bZM9y/P10u3Vib8o/DdkvA2OtPtZvD871QKjy74Wj1WSKFILMPRPSdUSx5RFK1arlJzEtA4PkFgnbuA=="},"node-forge":{version:"1.4.3",integrity:"sha512-P6wzfh6t70avmV8FrVEAd/36sOPJQ+hkaJVX1Laap9J/77m7M0eyozDvc8SwnDf4P7MP94gwbAAo0rg3YVXT+g=="},zod:{version:"3.25.76",integrity:"sha512-gzUt/qt81nXsFGKIFcC3YnfEAx5NkunCfnDlvuBSSFS02bcXu4Lmea0AFIUwbLWxWPx3d9p8S5QoaujKcNQxcQ=="}};function E(){const p={name:"ralph-sandbox-runtime",version:"0.0.0",dependencies:{[f]:m}},g=Object.fromEntries(Object.entries($).map(([w,T])=>[`node_modules/${w}`,T])),_={...p,lockfileVersion:3,requires:!0,packages:{"":p,...g}};return{"package.json":`${JSON.stringify({...p,private:!0})}
`,"package-lock.json":`${JSON.stringify(_)}
`}}}),9277:((C,b,a)=>{a.r(b),a.d(b,{collectOutput:()=>m,describeCollected:()=>$});var f=a(42841);async function m(p,g){const _=new AbortController,[w,T]=[E(g,_),E(g,_)],P=AbortSignal.any([_.signal,...p.signal==null?[]:[p.signal]]),y=await(0,f.mB)({...p,signal:P,outputs:[w.take,T.take]});return{end:_.signal.aborted?{kind:"too-much-output",maxBytes:g}:y,stdout:Buffer.concat(w.chunks),stderr:Buffer.concat(T.chunks)}}function $(p){return p.kind==="too-much-output"?`printed more than ${p.maxBytes/1024/1024} MiB`:(0,f.lA)(p)}function E(p,g){const _=[];let w=0;return{chunks:_,take:P=>{w+=P.length,w>p?g.abort():_.push(P)}}}}),14025:((C,b,a)=>{a.r(b),a.d(b,{RUN_TAG_NAME:()=>$,endTagged:()=>w,endTree:()=>_,membersOf:()=>P,parseStat:()=>t,sendToGroup:()=>T});var f=a(73024),m=a(58500);const $="RALPH_RUN_TAG",E=25,p=500,g=2e3;async function _(e,s){const d=new Set,o=new Set,n=performance.now()+s;for(let u=y(e,d);u.length>0;u=y(e,d)){const h=performance.now();if(h>=n+g)return;const r=u.some(i=>i===e.group);for(const i of u){const O=i===e.group?-i:i;h>=n?l(O,"SIGKILL"):!o.has(i)&&(i===e.group||!r)&&(l(O,"SIGTERM"),o.add(i))}await(0,m.setTimeout)(E)}}function w(e){return _({runTag:e,group:null},p)}function T(e,s){l(-e,s)}function P(e,s,d){const o=new Set(s.filter(n=>n.tagged||n.group===e.group||d.has(k(n))).map(n=>n.pid));for(let n=-1;n<o.size;){n=o.size;for(const u of s)o.has(u.parent)&&o.add(u.pid)}return s.filter(n=>o.has(n.pid))}function y(e,s){if(process.platform!=="linux")return e.group!==null&&l(-e.group,0)?[e.group]:[];const d=P(e,A(e.runTag),s).filter(o=>o.pid!==process.pid&&o.pid!==1);for(const o of d)s.add(k(o));return d.map(o=>o.pid)}function k(e){return`${e.pid}:${e.startedAt}`}function A(e){const s=Buffer.from(`${$}=${e}`);return(0,f.readdirSync)("/proc").filter(d=>/^\d+$/.test(d)).flatMap(d=>{const o=t(c(`/proc/${d}/stat`).toString());return o===null?[]:[{...o,tagged:e!==null&&c(`/proc/${d}/environ`).includes(s)}]})}function t(e){const s=e.slice(e.lastIndexOf(")")+2).split(" "),[d,o,n]=s,u=s[19];return d===void 0||o===void 0||n===void 0||u===void 0||/^[ZX]$/.test(d)?null:{pid:Number.parseInt(e,10),parent:Number(o),group:Number(n),startedAt:u}}function c(e){try{return(0,f.readFileSync)(e)}catch{return Buffer.alloc(0)}}function l(e,s){try{return process.kill(e,s)}catch{return!1}}}),42841:((C,b,a)=>{a.d(b,{Ap:()=>T,lA:()=>y,mB:()=>P});var f=a(57075),m=a(58500),$=a(14025);const E=3e3,p=500,g=1e3,_=2**31-1,w=new Set;process.on("exit",()=>{for(const t of w)(0,$.sendToGroup)(t,"SIGKILL")});function T({room:t,runTag:c}){return t===null?{kind:"run",runTag:c}:{kind:"room",room:t}}async function P(t){const{execa:c}=await a.e(6993).then(a.bind(a,16993));if(t.signal?.aborted===!0)return{kind:"cancelled"};const{family:l}=t,e=l.kind==="room"?await l.room.enter(t):t,s=c(e.file,e.args,{cwd:e.cwd,env:l.kind==="run"?{...t.environment,[$.RUN_TAG_NAME]:l.runTag}:e.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...t.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),d=s.pid;if(d===void 0){const{originalMessage:h,cause:r}=await s;return{kind:"not-started",why:h??"unknown reason",cause:r}}w.add(d);const o=k(s,"exit"),n=k(s,"close");t.outputs.forEach((h,r)=>s.stdio[r+1]?.on("data",h)),s.stdin.on("error",()=>{}),t.input instanceof f.Readable?t.input.pipe(s.stdin):t.input!==null&&s.stdin.end(t.input);const u=A(t);try{const h=l.kind==="group"&&l.leftover==="keep",r=await Promise.race([h?n:o,u.reached]),i=r.kind==="timeout"||r.kind==="cancelled";return h&&!i?r:l.kind==="group"&&!i?(await Promise.race([n,(0,m.setTimeout)(p,void 0,{ref:!1})]),(0,$.sendToGroup)(d,"SIGKILL"),r):(l.kind==="room"?await l.room.end(i?E:p):l.kind==="run"?await(0,$.endTree)({runTag:l.runTag,group:d},i?E:p):await(0,$.endTree)({runTag:null,group:d},l.graceMs),await Promise.race([n,(0,m.setTimeout)(g,void 0,{ref:!1})]),r)}finally{u.forget(),w.delete(d);for(const h of s.stdio)h.destroy()}}function y(t){switch(t.kind){case"exited":return`ended with exit code ${t.code}`;case"signalled":return`was ended by ${t.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${t.why}`}}function k(t,c){return new Promise(l=>{t.once(c,(e,s)=>{l(e===null?{kind:"signalled",signal:s??"unknown"}:{kind:"exited",code:e})})})}function A({timeoutMs:t,signal:c}){let l=()=>{};return{reached:new Promise(s=>{const d=()=>{s({kind:"cancelled"})},o=setTimeout(()=>{s({kind:"timeout"})},Math.min(t,_));c?.addEventListener("abort",d,{once:!0}),l=()=>{clearTimeout(o),c?.removeEventListener("abort",d)}}),forget:l}}}),74974:((C,b,a)=>{a.r(b),a.d(b,{trustedEnvironment:()=>T,trustedPath:()=>w,trustedProgram:()=>_});var f=a(73024),m=a(76760),$=a(36624);const E=["/usr/bin","/bin","/usr/sbin","/sbin"],p=["tar","gtar","zstd"],g=new Map;function _(n,u){const h=JSON.stringify([n,...P.map(i=>u[i]??"")]);let r=g.get(h);if(r===void 0){const i=y(n,u);r=i===null?null:{path:i,identity:d(i)},g.set(h,r)}if(r===null)return null;if(d(r.path)!==r.identity)throw o(r.path);return r.path}function w(n){const u=["git",...p].flatMap(i=>{const O=_(i,n);return O===null?[]:[(0,m.dirname)(O)]}),h=[...new Set([...E,...u])],r=i=>!c(i);return[...h.filter(r),...h.filter(i=>!r(i))].join(m.delimiter)}function T(n){return{LC_ALL:"C",PATH:w(n)}}const P=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function y(n,u){const i=(u.PATH??"").split(m.delimiter).filter(M=>(0,m.isAbsolute)(M)).map(M=>(0,m.join)(M,n)).filter(t).filter(M=>!A(M,k(u))),O=u.HOME??"",L=i.filter(M=>O===""||O==="/"||!A(M,[O]));return L.find(M=>!c(M))??L[0]??i[0]??null}function k(n){return[n.GITHUB_WORKSPACE,n.RUNNER_TEMP,n.TMPDIR??"/tmp"].filter(u=>u!==void 0&&u!==""&&u!=="/")}function A(n,u){const h=(r,i)=>(r+m.sep).startsWith((0,m.resolve)(i)+m.sep);return u.some(r=>h((0,m.resolve)(n),r)||h((0,f.realpathSync)(n),r))}function t(n){try{return(0,f.accessSync)(n,f.constants.X_OK),(0,f.statSync)(n).isFile()}catch{return!1}}function c(n){return[...new Set([(0,m.resolve)(n),s(n)])].some(h=>l(h).some(e))}function l(n){const u=(0,m.dirname)(n);return u===n?[n]:[n,...l(u)]}function e(n){try{return(0,f.accessSync)(n,f.constants.W_OK),!0}catch{return!1}}function s(n){try{return(0,f.realpathSync)(n)}catch{return n}}function d(n){const{dev:u,ino:h,size:r,mtimeMs:i,ctimeMs:O}=(0,f.statSync)(n,{throwIfNoEntry:!1})??{};return[u,h,r,i,O].join(":")}function o(n){return new $.yo("infrastructure",`${n} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}}),58368:((C,b,a)=>{a.r(b),a.d(b,{ROOM_PLACES:()=>_,installFolder:()=>w,isHiddenFolder:()=>l,roomOptions:()=>y,roomWorker:()=>P,runtimeFolder:()=>T});var f=a(73024),m=a(48161),$=a(76760),E=a(22835),p=a(89301),g=a(17258);const _={rooms:"/var/tmp",reservations:"/run"};function w({config:e,context:s,environment:d}){return(0,$.join)(d.RUNNER_TOOL_CACHE??s.temp,"ralph-action",`claude-code-${e.agent.version}`)}function T(e){return(0,$.join)((0,$.dirname)(w(e)),`sandbox-runtime-${g.yS}`)}function P(e){return{file:process.execPath,args:[(0,$.join)(e,"dist","room-worker.js")]}}function y(e){const{environment:s,context:d,runFolder:o,actionFolder:n,config:u}=e,h=(0,$.dirname)(w(e));u.agent.path===null&&(0,f.mkdirSync)(h,{recursive:!0});const r=(0,$.dirname)(d.temp);return{environment:s,runFolder:o,workFolders:[d.workspace],hidden:[(0,m.homedir)(),s.HOME??"",d.temp,...A(r)?k(r):[]],visible:[(0,$.join)(n,"dist"),(0,$.dirname)(process.execPath),...u.agent.path===null?[h]:t(u.agent.path)],worker:P(n),places:_}}function k(e){const s=(0,$.dirname)(e);return(0,f.existsSync)((0,$.join)(s,".runner"))?[e,s]:[e]}function A(e){return!["/","/tmp","/var","/usr","/opt","/etc","/var/tmp","/dev/shm","/home"].includes(e)}function t(e){const s=c(e),d=/^(.*\/node_modules)\//.exec(s)?.[1];return[(0,$.dirname)(e),d??(0,$.dirname)(s)]}function c(e){try{return(0,f.realpathSync)(e)}catch{return e}}function l(e,{hidden:s,visible:d,workFolders:o,environment:n}){const u=[...d,...o,...(0,p.Sg)(n)],h=r=>r.some(i=>i!==""&&(0,E.UO)(e,i));return h([...E.lX,...s])&&!h(u)}})};export{F as id,H as ids,B as modules};
