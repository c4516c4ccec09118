const ot=6357,st=[6357,8368,4974,4025,9277],rt={22835:((W,L,n)=>{n.d(L,{UO:()=>b,_z:()=>U,du:()=>P,lX:()=>g});const p=new Set(["proc","sys","dev","run","tmp","lost+found"]),$=["/tmp","/var/tmp","/dev/shm"],g=["/home","/root","/mnt","/media","/srv","/boot","/var/log","/var/spool","/var/cache","/var/lib/docker","/var/lib/containerd","/var/backups"];function P(o,u){const t=o.top.filter(({name:s,kind:e})=>e==="folder"&&!p.has(s)).map(({name:s})=>`/${s}`),i=s=>$.some(e=>b(s,e)),c=[...t.map(s=>E(s,"ro")),...o.disks.filter(s=>s!=="/"&&!t.includes(s)&&t.some(e=>b(s,e))).map(s=>E(s,"ro")),E("/sys","ro"),...o.hidden.filter(s=>t.some(e=>b(s,e))&&!i(s)).map(s=>O(s,"755")),...$.map(s=>O(s,"1777")),...["/dev","/run"].map(s=>O(s,"755")),...o.readOnly.map(s=>E(s,"ro")),...o.writable.map(s=>E(s,"rw")),...Object.entries(o.replaced).map(([s,e])=>({kind:"bind",path:s,source:e,access:"ro"}))];return{links:o.top.filter(({name:s,kind:e})=>e==="link"&&!p.has(s)).map(({name:s,target:e})=>({path:`${u}/${s}`,target:e})),fstab:S(c).map(s=>`${T(s,u)}
`).join("")}}function E(o,u){return{kind:"bind",path:o,source:o,access:u}}function O(o,u){return{kind:"empty",path:o,mode:u}}function S(o){const u=t=>t.split("/").length;return[...new Map(o.map(t=>[t.path,t])).values()].sort((t,i)=>u(t.path)-u(i.path))}function T(o,u){const m=y(u+o.path);if(o.kind==="bind")return`${y(o.source)} ${m} none bind,${o.access},nosuid,nodev,X-mount.mkdir=0755 0 0`;const t=o.path==="/dev"?"":"nodev,";return`ralph ${m} tmpfs mode=${o.mode},nosuid,${t}X-mount.mkdir=0755 0 0`}function b(o,u){return o===u||o.startsWith(u==="/"?"/":`${u}/`)}function y(o){return o.replace(/[\s\\#]/g,u=>`\\${u.charCodeAt(0).toString(8).padStart(3,"0")}`)}const C=/^(ext[234]|xfs|btrfs|zfs|f2fs|overlay|squashfs|erofs|bcachefs|virtiofs|9p|nfs4?|fuse\.\w+)$/;function U(o){return o.split(`
`).flatMap(u=>{const[m="",t=""]=u.split(" - "),i=m.split(" ")[4];return i!==void 0&&C.test(t.split(" ")[0]??"")?[x(i)]:[]})}function x(o){return o.replace(/\\([0-7]{3})/g,(u,m)=>String.fromCharCode(Number.parseInt(m,8)))}}),89301:((W,L,n)=>{n.d(L,{$i:()=>o,dB:()=>u,yR:()=>v,PX:()=>f,Sg:()=>e});var p=n(73024),$=n(76760),g=n(57075),P=n(58500),E=n(78326),O=n(22835),S=n(14025);async function T({file:r,args:a,timeoutMs:A},k){const{execa:l}=await n.e(6993).then(n.bind(n,16993)),d=[],h=l(r,a,{cwd:"/",env:{LC_ALL:"C",NODE_CHANNEL_FD:"0"},extendEnv:!1,detached:!0,stdio:["ipc","ignore","ignore"],serialization:"json",reject:!1,buffer:!1}),I=new Promise(R=>{h.on("message",(w,D)=>{D!==void 0&&d.push(D),d.length===k&&R(!0)}),h.once("exit",()=>{R(!1)}),h.once("error",()=>{R(!1)})});try{if(await Promise.race([I,(0,P.setTimeout)(A,!1,{ref:!1})]))return d;for(const w of d)w.close();throw new Error(`only ${String(d.length)} of ${String(k)} sockets came`)}finally{h.connected&&h.disconnect(),h.pid!==void 0&&(0,S.sendToGroup)(h.pid,"SIGKILL")}}var b=n(42841),y=n(24196),C=n(6598);const U=15e3,x=3e3,o=`[ -e /run/ralph-room ] || exit 97
`;async function u({root:r,record:a,runFolder:A},k,l){const d=(0,$.join)(a.folder,"root"),h=(0,O.du)(i(k,{...a,runFolder:A}),d),I=(0,$.join)(A,"room.fstab");(0,p.writeFileSync)(I,h.fstab,{mode:384});const R=h.links.flatMap(({path:N,target:_})=>[N,_]),w=await m(r,[I,d,...R]),D=["nsenter","--target",w.pid];try{return{way:[...D,"--mount","--pid","--ipc","--uts","--net","--"],listeners:await t(r,[...D,"--net","--"],{...k,count:l}),lost:w.lost,end:w.end}}catch(N){throw await w.end(),N}}async function m(r,a){const{file:A,args:k}=r.command(["unshare","--mount","--propagation","private","--pid","--ipc","--uts","--net","--fork","--kill-child=KILL","--",(0,p.existsSync)("/bin/bash")?"bash":"sh","-c",(0,y.iD)(C.k9),"ralph-room",...a]),l=new g.PassThrough,d=Promise.withResolvers();let h="",I=!1;const R=(0,b.mB)({file:A,args:k,cwd:"/",environment:{LC_ALL:"C",PATH:y.sg},input:l,timeoutMs:Number.MAX_SAFE_INTEGER,signal:null,family:{kind:"group",graceMs:0,leftover:"end"},outputs:[N=>{d.resolve(N.toString().trim())},N=>{h=(h+N.toString()).slice(-2e3)}]}).then(()=>{I=!0,d.resolve("")}),w=async()=>{l.end(),await Promise.race([R,(0,P.setTimeout)(x,void 0,{ref:!1})])},D=await Promise.race([d.promise,(0,P.setTimeout)(U,"",{ref:!1})]);if(/^\d+$/.test(D))return{pid:D,end:w,lost:()=>I?"The room of the agent was ended while the run used it, by another program on this machine. What was finished before is published. Re-run the workflow.":null};throw await w(),new y.$P((0,E.TN)(h.trim().split(`
`)[0]??"",200)||"namespaces could not be made in time")}async function t(r,a,{worker:A,count:k}){const l=["setpriv",`--reuid=${String(r.owner.uid)}`,`--regid=${String(r.owner.gid)}`,"--clear-groups","--no-new-privs","env","-i","NODE_CHANNEL_FD=0",A.file,...A.args,"listen",String(k)],d={...r.command([...a,...l]),timeoutMs:U};return T(d,k).catch(h=>{throw new y.$P(`the room's network cannot be listened in (${String(h)})`)})}function i({workFolders:r,hidden:a,visible:A,worker:k,environment:l},{folder:d,uid:h,runFolder:I}){const R=M=>[...new Set(M.flatMap(f))],w=Object.fromEntries([["passwd",`ralph:x:${String(h)}:${String(h)}::${d}/home:/bin/sh`],["group",`ralph:x:${String(h)}:`]].map(([M,K])=>{const j=(0,$.join)(d,"inbox",M);return(0,p.writeFileSync)(j,`${v(`/etc/${M}`)}
${K}
`,{mode:420}),[`/etc/${M}`,j]})),D=R([...A,(0,$.dirname)(k.file),...k.args.filter(M=>M.startsWith("/")).map($.dirname),...e(l)]),N=[...R(r),...["home","session","clones","inbox"].map(M=>`${d}/${M}`)],_=R([...O.lX,...a,I,...[...N,...D].flatMap(c)]);return{top:(0,p.readdirSync)("/",{withFileTypes:!0}).map(M=>{const K=`/${M.name}`;return M.isSymbolicLink()?{name:M.name,kind:"link",target:(0,p.readlinkSync)(K)}:{name:M.name,kind:M.isDirectory()?"folder":"other",target:""}}),disks:(0,O._z)(v("/proc/self/mountinfo")).filter(M=>f(M).length>0),hidden:_,readOnly:[...D.filter(M=>_.some(K=>(0,O.UO)(M,K))||s(M)),`${d}/inbox`],writable:[...R(r),`${d}/home`,`${d}/session`,`${d}/clones`],replaced:w}}function c(r){const a=(0,$.dirname)(r);if(a===r)return[];const A=c(a);return A.length===0&&(((0,p.statSync)(a,{throwIfNoEntry:!1})?.mode??0)&1)===0?[a]:A}function s(r){return["/tmp","/var/tmp","/run","/dev/shm"].some(a=>(0,O.UO)(r,a))}function e(r){const a=r.HOME??"",k=(r.PATH??"").split(":").filter(d=>d.startsWith("/")).map(d=>{const h=(0,$.dirname)(d),I=h===a||h==="/"||/\/\.(local|cargo|config)$/.test(h);return d.endsWith("/bin")&&!I?h:d}),l=["RUSTUP_HOME","NVM_DIR","JAVA_HOME","GOROOT","DOTNET_ROOT","ANDROID_HOME","pythonLocation"];return[...k,...[...l,"RUNNER_TOOL_CACHE"].map(d=>r[d]??""),...a===""?[]:[(0,$.join)(a,".rustup")]].filter(d=>d!==a)}function f(r){try{const a=(0,p.realpathSync)(r);return r.startsWith("/")&&a!=="/"&&(0,p.statSync)(a).isDirectory()?[a]:[]}catch{return[]}}function v(r){try{return(0,p.readFileSync)(r,"utf8").trimEnd()}catch{return""}}}),24196:((W,L,n)=>{n.d(L,{$P:()=>P,iD:()=>y,sg:()=>E,wg:()=>b});var p=n(9277),$=n(74974),g=n(78326);class P extends Error{}const E="/usr/sbin:/usr/bin:/sbin:/bin",O=3e4,S=5e3,T=1024*1024;async function b(x){if(process.platform!=="linux")throw new P(`this works on Linux only, and this is ${process.platform}`);const[o=0,u=0]=[process.getuid?.(),process.getgid?.()],m={...x,PATH:E},t=o===0?[]:[C("sudo",m),"-n","--"],i=c=>{const[s="",...e]=[...t,C(c[0],m),...c.slice(1)];return{file:s,args:e}};return o!==0&&await U(i(["true"]),S),{owner:{uid:o,gid:u},command:i,run:(c,s,e=[])=>{const[f="sh",...v]=[...e,"sh","-c",y(c),"ralph",...s];return U(i([f,...v]),O)}}}function y(x){return`PATH=${E}; export PATH
${x}`}function C(x,o){const u=(0,$.trustedProgram)(x,o);if(u===null)throw new P(`\`${x}\` is not installed`);return u}async function U({file:x,args:o},u){const{end:m,stdout:t,stderr:i}=await(0,p.collectOutput)({file:x,args:o,cwd:"/",environment:{LC_ALL:"C",PATH:E},input:"",timeoutMs:u,family:{kind:"group",graceMs:0,leftover:"end"}},T);if(m.kind==="exited"&&m.code===0)return t.toString();const c=i.toString().trim().split(`
`).at(-1)??"";throw new P(c===""?`a program ${(0,p.describeCollected)(m)}`:(0,g.TN)(c,200))}}),6598:((W,L,n)=>{n.d(L,{Ex:()=>T,IZ:()=>p,Nc:()=>b,Nd:()=>y,aI:()=>E,bh:()=>O,k9:()=>$,op:()=>S,t2:()=>C,zl:()=>g});const p=`
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
`,g=`
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
`,E=`
uid=$1 home=$2; shift 2
${P}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,O=`
setpriv --reuid="$1" --regid="$1" --clear-groups sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,S=`
set -eu
uid=$1; shift
for path; do
  setpriv --reuid="$uid" --regid="$uid" --clear-groups test -x "$path" && continue
  command -v setfacl > /dev/null || { echo "$path is closed to other users, and setfacl is not installed" >&2; exit 1; }
  setfacl -m "u:$uid:--x" -- "$path"
  echo "$path"
done
`,T=`
command -v useradd > /dev/null && command -v userdel > /dev/null || exit 0
useradd --system --uid "$1" --user-group --no-create-home --home-dir "$3" --shell /usr/sbin/nologin "$2" > /dev/null 2>&1 || exit 0
echo named
`,b=`
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
`,y=`
uid=$1; shift
for path; do setfacl -x "u:$uid" -- "$path" 2> /dev/null; done
:
`,C=`
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
`}),17258:((W,L,n)=>{n.d(L,{$h:()=>g,Lq:()=>P,lr:()=>p,yS:()=>$});const p="@anthropic-ai/sandbox-runtime",$="0.0.83",g={[p]:{version:$,integrity:"sha512-yEusORnVJrNseF/9fvjVYyk6tr79/aFbIB3T/X8p2puLZdaaiGNeYN50v0CE+1DT70v7XuzKOAnTivh1f5cksA==",dependencies:{"@pondwader/socks5-server":"^1.0.10",commander:"^12.1.0","node-forge":"^1.4.0",zod:"^3.25.0"}},"@pondwader/socks5-server":{version:"1.0.10",integrity:"sha512-bQY06wzzR8D2+vVCUoBsr5QS2U6UgPUQRmErNwtsuI6vLcyRKkafjkr3KxbtGFf9aBBIV2mcvlsKD1UYaIV+sg=="},commander:{version:"12.1.0",integrity:"sha512-Vw8qHK3bZM9y/P10u3Vib8o/DdkvA2OtPtZvD871QKjy74Wj1WSKFILMPRPSdUSx5RFK1arlJzEtA4PkFgnbuA=="},"node-forge":{version:"1.4.3",integrity:"sha512-P6wzfh6t70avmV8FrVEAd/36sOPJQ+hkaJVX1Laap9J/77m7M0eyozDvc8SwnDf4P7MP94gwbAAo0rg3YVXT+g=="},zod:{version:"3.25.76",integrity:"sha512-gzUt/qt81nXsFGKIFcC3YnfEAx5NkunCfnDlvuBSSFS02bcXu4Lmea0AFIUwbLWxWPx3d9p8S5QoaujKcNQxcQ=="}};function P(){const E={name:"ralph-sandbox-runtime",version:"0.0.0",dependencies:{[p]:$}},O=Object.fromEntries(Object.entries(g).map(([T,b])=>[`node_modules/${T}`,b])),S={...E,lockfileVersion:3,requires:!0,packages:{"":E,...O}};return{"package.json":`${JSON.stringify({...E,private:!0})}
`,"package-lock.json":`${JSON.stringify(S)}
`}}}),9277:((W,L,n)=>{n.r(L),n.d(L,{collectOutput:()=>$,describeCollected:()=>g});var p=n(42841);async function $(E,O){const S=new AbortController,[T,b]=[P(O,S),P(O,S)],y=AbortSignal.any([S.signal,...E.signal==null?[]:[E.signal]]),C=await(0,p.mB)({...E,signal:y,outputs:[T.take,b.take]});return{end:S.signal.aborted?{kind:"too-much-output",maxBytes:O}:C,stdout:Buffer.concat(T.chunks),stderr:Buffer.concat(b.chunks)}}function g(E){return E.kind==="too-much-output"?`printed more than ${E.maxBytes/1024/1024} MiB`:(0,p.lA)(E)}function P(E,O){const S=[];let T=0;return{chunks:S,take:y=>{T+=y.length,T>E?O.abort():S.push(y)}}}}),14025:((W,L,n)=>{n.r(L),n.d(L,{RUN_TAG_NAME:()=>g,endTagged:()=>T,endTree:()=>S,membersOf:()=>y,parseStat:()=>o,sendToGroup:()=>b});var p=n(73024),$=n(58500);const g="RALPH_RUN_TAG",P=25,E=500,O=2e3;async function S(t,i){const c=new Set,s=new Set,e=performance.now()+i;for(let f=C(t,c);f.length>0;f=C(t,c)){const v=performance.now();if(v>=e+O)return;const r=f.some(a=>a===t.group);for(const a of f){const A=a===t.group?-a:a;v>=e?m(A,"SIGKILL"):!s.has(a)&&(a===t.group||!r)&&(m(A,"SIGTERM"),s.add(a))}await(0,$.setTimeout)(P)}}function T(t){return S({runTag:t,group:null},E)}function b(t,i){m(-t,i)}function y(t,i,c){const s=new Set(i.filter(e=>e.tagged||e.group===t.group||c.has(U(e))).map(e=>e.pid));for(let e=-1;e<s.size;){e=s.size;for(const f of i)s.has(f.parent)&&s.add(f.pid)}return i.filter(e=>s.has(e.pid))}function C(t,i){if(process.platform!=="linux")return t.group!==null&&m(-t.group,0)?[t.group]:[];const c=y(t,x(t.runTag),i).filter(s=>s.pid!==process.pid&&s.pid!==1);for(const s of c)i.add(U(s));return c.map(s=>s.pid)}function U(t){return`${t.pid}:${t.startedAt}`}function x(t){const i=Buffer.from(`${g}=${t}`);return(0,p.readdirSync)("/proc").filter(c=>/^\d+$/.test(c)).flatMap(c=>{const s=o(u(`/proc/${c}/stat`).toString());return s===null?[]:[{...s,tagged:t!==null&&u(`/proc/${c}/environ`).includes(i)}]})}function o(t){const i=t.slice(t.lastIndexOf(")")+2).split(" "),[c,s,e]=i,f=i[19];return c===void 0||s===void 0||e===void 0||f===void 0||/^[ZX]$/.test(c)?null:{pid:Number.parseInt(t,10),parent:Number(s),group:Number(e),startedAt:f}}function u(t){try{return(0,p.readFileSync)(t)}catch{return Buffer.alloc(0)}}function m(t,i){try{return process.kill(t,i)}catch{return!1}}}),42841:((W,L,n)=>{n.d(L,{Ap:()=>b,lA:()=>C,mB:()=>y});var p=n(57075),$=n(58500),g=n(14025);const P=3e3,E=500,O=1e3,S=2**31-1,T=new Set;process.on("exit",()=>{for(const o of T)(0,g.sendToGroup)(o,"SIGKILL")});function b({room:o,runTag:u}){return o===null?{kind:"run",runTag:u}:{kind:"room",room:o}}async function y(o){const{execa:u}=await n.e(6993).then(n.bind(n,16993));if(o.signal?.aborted===!0)return{kind:"cancelled"};const{family:m}=o,t=m.kind==="room"?await m.room.enter(o):o,i=u(t.file,t.args,{cwd:t.cwd,env:m.kind==="run"?{...o.environment,[g.RUN_TAG_NAME]:m.runTag}:t.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...o.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),c=i.pid;if(c===void 0){const{originalMessage:v,cause:r}=await i;return{kind:"not-started",why:v??"unknown reason",cause:r}}T.add(c);const s=U(i,"exit"),e=U(i,"close");o.outputs.forEach((v,r)=>i.stdio[r+1]?.on("data",v)),i.stdin.on("error",()=>{}),o.input instanceof p.Readable?o.input.pipe(i.stdin):o.input!==null&&i.stdin.end(o.input);const f=x(o);try{const v=m.kind==="group"&&m.leftover==="keep",r=await Promise.race([v?e:s,f.reached]),a=r.kind==="timeout"||r.kind==="cancelled";return v&&!a?r:m.kind==="group"&&!a?(await Promise.race([e,(0,$.setTimeout)(E,void 0,{ref:!1})]),(0,g.sendToGroup)(c,"SIGKILL"),r):(m.kind==="room"?await m.room.end(a?P:E):m.kind==="run"?await(0,g.endTree)({runTag:m.runTag,group:c},a?P:E):await(0,g.endTree)({runTag:null,group:c},m.graceMs),await Promise.race([e,(0,$.setTimeout)(O,void 0,{ref:!1})]),r)}finally{f.forget(),T.delete(c);for(const v of i.stdio)v.destroy()}}function C(o){switch(o.kind){case"exited":return`ended with exit code ${o.code}`;case"signalled":return`was ended by ${o.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${o.why}`}}function U(o,u){return new Promise(m=>{o.once(u,(t,i)=>{m(t===null?{kind:"signalled",signal:i??"unknown"}:{kind:"exited",code:t})})})}function x({timeoutMs:o,signal:u}){let m=()=>{};return{reached:new Promise(i=>{const c=()=>{i({kind:"cancelled"})},s=setTimeout(()=>{i({kind:"timeout"})},Math.min(o,S));u?.addEventListener("abort",c,{once:!0}),m=()=>{clearTimeout(s),u?.removeEventListener("abort",c)}}),forget:m}}}),74974:((W,L,n)=>{n.r(L),n.d(L,{trustedEnvironment:()=>b,trustedPath:()=>T,trustedProgram:()=>S});var p=n(73024),$=n(76760),g=n(36624);const P=["/usr/bin","/bin","/usr/sbin","/sbin"],E=["tar","gtar","zstd"],O=new Map;function S(e,f){const v=JSON.stringify([e,...y.map(a=>f[a]??"")]);let r=O.get(v);if(r===void 0){const a=C(e,f);r=a===null?null:{path:a,identity:c(a)},O.set(v,r)}if(r===null)return null;if(c(r.path)!==r.identity)throw s(r.path);return r.path}function T(e){const f=["git",...E].flatMap(a=>{const A=S(a,e);return A===null?[]:[(0,$.dirname)(A)]}),v=[...new Set([...P,...f])],r=a=>!u(a);return[...v.filter(r),...v.filter(a=>!r(a))].join($.delimiter)}function b(e){return{LC_ALL:"C",PATH:T(e)}}const y=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function C(e,f){const a=(f.PATH??"").split($.delimiter).filter(l=>(0,$.isAbsolute)(l)).map(l=>(0,$.join)(l,e)).filter(o).filter(l=>!x(l,U(f))),A=f.HOME??"",k=a.filter(l=>A===""||A==="/"||!x(l,[A]));return k.find(l=>!u(l))??k[0]??a[0]??null}function U(e){return[e.GITHUB_WORKSPACE,e.RUNNER_TEMP,e.TMPDIR??"/tmp"].filter(f=>f!==void 0&&f!==""&&f!=="/")}function x(e,f){const v=(r,a)=>(r+$.sep).startsWith((0,$.resolve)(a)+$.sep);return f.some(r=>v((0,$.resolve)(e),r)||v((0,p.realpathSync)(e),r))}function o(e){try{return(0,p.accessSync)(e,p.constants.X_OK),(0,p.statSync)(e).isFile()}catch{return!1}}function u(e){return[...new Set([(0,$.resolve)(e),i(e)])].some(v=>m(v).some(t))}function m(e){const f=(0,$.dirname)(e);return f===e?[e]:[e,...m(f)]}function t(e){try{return(0,p.accessSync)(e,p.constants.W_OK),!0}catch{return!1}}function i(e){try{return(0,p.realpathSync)(e)}catch{return e}}function c(e){const{dev:f,ino:v,size:r,mtimeMs:a,ctimeMs:A}=(0,p.statSync)(e,{throwIfNoEntry:!1})??{};return[f,v,r,a,A].join(":")}function s(e){return new g.yo("infrastructure",`${e} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}}),66357:((W,L,n)=>{n.r(L),n.d(L,{isolate:()=>i});const p=/^(HOME|USER|LOGNAME|SHELL|MAIL|TMPDIR|TMP|TEMP|https?_proxy|no_proxy|all_proxy|RUNNER_TRACKING_ID|XDG_\w+|SSH_AUTH_SOCK|DBUS_\w+|GNUPGHOME)$/i,$=/^(CARGO_HOME|RUSTUP_HOME|GOPATH|GOROOT|NVM_DIR|JAVA_HOME|PYTHONPATH|pythonLocation|DOTNET_ROOT|ANDROID_HOME|RUNNER_TOOL_CACHE)$/,g="127.0.0.1,localhost,::1";function P(l,{home:d,proxyPort:h,isVisible:I}){const R=Object.entries(l).filter(([D,N])=>!p.test(D)&&!($.test(D)&&N.split(":").some(_=>_!==""&&!I(_)))),w=h===null?null:`http://127.0.0.1:${String(h)}`;return{...Object.fromEntries(R),HOME:d,USER:"ralph",LOGNAME:"ralph",SHELL:"/bin/sh",TMPDIR:"/tmp",NO_PROXY:g,no_proxy:g,...w===null?{}:{HTTP_PROXY:w,HTTPS_PROXY:w,http_proxy:w,https_proxy:w,NODE_USE_ENV_PROXY:"1",JAVA_TOOL_OPTIONS:[l.JAVA_TOOL_OPTIONS??"",...E(String(h))].join(" ").trim()}}}function E(l){return["http","https"].flatMap(d=>[`-D${d}.proxyHost=127.0.0.1`,`-D${d}.proxyPort=${l}`,`-D${d}.nonProxyHosts=localhost|127.*|[::1]`])}var O=n(7495),S=n(96874);const T=new Set(["schedule","workflow_dispatch","repository_dispatch","push"]);function b(l){return!T.has(l)}var y=n(37558),C=n(46262),U=n(36624),x=n(98215),o=n(58368),u=n(53650);const m=500,t=new Set(["write to the work tree","write to its home","reach the broker"]);async function i(l){const{config:d,context:h}=l,{wanted:I}=d.isolation,R=I==="none"?null:r(l);R?.catch(()=>{});const w=[];let D=null;for(const M of(0,S.GW)(I)){const K=await c(l,M,(0,o.roomOptions)(l)).catch(j=>(0,U.bD)(j));if(typeof K!="string"){D=K;break}w.push({level:M,why:K})}const N=b(h.event.name),_=(0,S.E3)(I,{reached:D?.level??null,failed:w,byOutsiders:N});if(_.kind==="unusable")throw new U.yo("configuration",_.problem);return _.why!==null&&D===null&&l.log.warning(_.why),D===null||R===null?(0,u.p)(_.why):e(l,{opened:D,hosts:R,why:_.why})}async function c(l,d,h){if(d!=="sandbox"){const{openRoom:_}=await n.e(2163).then(n.bind(n,42163));return await _(d,h)}const[{openSandboxRoom:I},{installSandboxRuntime:R}]=await Promise.all([n.e(9687).then(n.bind(n,9687)),n.e(8731).then(n.bind(n,28731))]),{environment:w,runTag:D}=l;return await I({...h,runtime:()=>R({folder:(0,o.runtimeFolder)(l),environment:w,runTag:D})})}const s=["anthropic.com","*.anthropic.com","claude.ai","*.claude.ai","claude.com","*.claude.com"];async function e(l,{opened:d,hosts:h,why:I}){const{config:R,context:w,log:D}=l,{room:N,level:_}=d,M=(0,o.roomOptions)(l),{createEgress:K}=await n.e(9717).then(n.bind(n,69717));let j={kind:"listed",hosts:[]};const X=K({get allowed(){return j},never:A(l),upstreamFor:await(0,x.L8)()}),V=await d.listen(X.server);let F=null;async function J(H){j=await h;const z=await d.limitNetwork([V,...H===null?[]:[H]])?j.kind==="any"?"any":"limited":"open";await N.give(N.folders.session);const{probeRoom:Q}=await n.e(7135).then(n.bind(n,7135)),B=await Q(l,d,{brokerPort:H,proxyPort:V,network:z});F={network:z,keyHidden:H!==null,probe:B,processesLeft:null};const G=k(B);if(G===null)return;const{can:Z,cannot:q}=(0,y.Pr)(B?.failed??[]),{wanted:tt}=R.isolation;if(q.some(nt=>t.has(nt)))throw new U.yo("infrastructure",`The isolated agent cannot work on this runner: ${G}. No call was made. Use another runner, or set \`isolation\` to a weaker level.`);if((tt!=="auto"||b(w.event.name))&&(B===null||Z.length>0))throw new U.yo("configuration",`The isolation of the agent (\`${_}\`) does not hold on this runner: ${G}. No call was made. Use another runner, or accept the risk with \`isolation: none\`.`);D.warning(`The agent is not isolated as it should be: ${G}.`)}return{room:N,environmentFor:H=>P(H,{home:N.folders.home,proxyPort:V,isVisible:Y=>!(0,o.isHiddenFolder)(Y,M)}),listen:H=>d.listen(H),begin:J,count:async()=>{const H=await N.end(m);if(F!==null&&(F={...F,processesLeft:H.length}),H.length===0&&await N.takeBack(N.folders.session),H.length>0)throw new U.yo("infrastructure",`Processes of the agent cannot be ended: ${(0,C.eZ)(H)}. What was finished before is published. Restart the runner.`)},facts:()=>F===null?null:{level:_,why:I,allowedHosts:j.kind==="any"?0:j.hosts.length,refused:X.refused(),...F},close:async()=>{await X.close();const H=await d.close();return H.length===0?null:`Processes of the agent are still there: ${(0,C.eZ)(H)}.`}}}const f=3e3,v=256*1024;async function r({config:l,environment:d}){const h=l.isolation.hosts;if(h.kind!=="registries-and")return(0,O.uV)(h,[]);const[{registryHosts:I},{collectOutput:R}]=await Promise.all([n.e(6216).then(n.bind(n,46216)),Promise.resolve().then(n.bind(n,9277))]),w=Object.entries(d).filter(N=>N[1]!==void 0),D=await I({environment:d,run:async(N,_)=>{const{end:M,stdout:K}=await R({file:N,args:_,environment:a(w),input:"",timeoutMs:f,cwd:"/",family:{kind:"group",graceMs:0,leftover:"end"}},v);return M.kind==="exited"&&M.code===0?K.toString():null}});return(0,O.uV)(h,D)}function a(l){return Object.fromEntries(l.filter(([d])=>!/TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY$|API_?KEY|^INPUT_|^ACTIONS_/i.test(d)))}function A({environment:l}){const d=Object.entries(l).filter(([h])=>/^ANTHROPIC_(\w+_)?BASE_URL$/.test(h));return[...s,...d.flatMap(([,h])=>URL.parse(h??"")?.hostname??[])]}function k(l){if(l===null)return"what it can reach could not be checked from its place";const{can:d,cannot:h,unknown:I}=(0,y.Pr)(l.failed),R=[...d.map(w=>`it can ${w}`),...h.map(w=>`it cannot ${w}`),...I];return R.length===0?null:(0,C.eZ)(R)}}),58368:((W,L,n)=>{n.r(L),n.d(L,{ROOM_PLACES:()=>S,installFolder:()=>T,isHiddenFolder:()=>m,roomOptions:()=>C,roomWorker:()=>y,runtimeFolder:()=>b});var p=n(73024),$=n(48161),g=n(76760),P=n(22835),E=n(89301),O=n(17258);const S={rooms:"/var/tmp",reservations:"/run"};function T({config:t,context:i,environment:c}){return(0,g.join)(c.RUNNER_TOOL_CACHE??i.temp,"ralph-action",`claude-code-${t.agent.version}`)}function b(t){return(0,g.join)((0,g.dirname)(T(t)),`sandbox-runtime-${O.yS}`)}function y(t){return{file:process.execPath,args:[(0,g.join)(t,"dist","room-worker.js")]}}function C(t){const{environment:i,context:c,runFolder:s,actionFolder:e,config:f}=t,v=(0,g.dirname)(T(t));f.agent.path===null&&(0,p.mkdirSync)(v,{recursive:!0});const r=(0,g.dirname)(c.temp);return{environment:i,runFolder:s,workFolders:[c.workspace],hidden:[(0,$.homedir)(),i.HOME??"",c.temp,...x(r)?U(r):[]],visible:[(0,g.join)(e,"dist"),(0,g.dirname)(process.execPath),...f.agent.path===null?[v]:o(f.agent.path)],worker:y(e),places:S}}function U(t){const i=(0,g.dirname)(t);return(0,p.existsSync)((0,g.join)(i,".runner"))?[t,i]:[t]}function x(t){return!["/","/tmp","/var","/usr","/opt","/etc","/var/tmp","/dev/shm","/home"].includes(t)}function o(t){const i=u(t),c=/^(.*\/node_modules)\//.exec(i)?.[1];return[(0,g.dirname)(t),c??(0,g.dirname)(i)]}function u(t){try{return(0,p.realpathSync)(t)}catch{return t}}function m(t,{hidden:i,visible:c,workFolders:s,environment:e}){const f=[...c,...s,...(0,E.Sg)(e)],v=r=>r.some(a=>a!==""&&(0,P.UO)(t,a));return v([...P.lX,...i])&&!v(f)}})};export{ot as id,st as ids,rt as modules};
