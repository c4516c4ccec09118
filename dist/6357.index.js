const ot=6357,st=[6357,8368,4974,4025,9277],rt={22835:((W,L,t)=>{t.d(L,{UO:()=>b,_z:()=>C,du:()=>S,lX:()=>v});const p=new Set(["proc","sys","dev","run","tmp","lost+found"]),$=["/tmp","/var/tmp","/dev/shm"],v=["/home","/root","/mnt","/media","/srv","/boot","/var/log","/var/spool","/var/cache","/var/lib/docker","/var/lib/containerd","/var/backups"];function S(e,u){const o=e.top.filter(({name:s,kind:n})=>n==="folder"&&!p.has(s)).map(({name:s})=>`/${s}`),a=s=>$.some(n=>b(s,n)),m=[...o.map(s=>E(s,"ro")),...e.disks.filter(s=>s!=="/"&&!o.includes(s)&&o.some(n=>b(s,n))).map(s=>E(s,"ro")),E("/sys","ro"),...e.hidden.filter(s=>o.some(n=>b(s,n))&&!a(s)).map(s=>O(s,"755")),...$.map(s=>O(s,"1777")),...["/dev","/run"].map(s=>O(s,"755")),...e.readOnly.map(s=>E(s,"ro")),...e.writable.map(s=>E(s,"rw")),...Object.entries(e.replaced).map(([s,n])=>({kind:"bind",path:s,source:n,access:"ro"}))];return{links:e.top.filter(({name:s,kind:n})=>n==="link"&&!p.has(s)).map(({name:s,target:n})=>({path:`${u}/${s}`,target:n})),fstab:w(m).map(s=>`${T(s,u)}
`).join("")}}function E(e,u){return{kind:"bind",path:e,source:e,access:u}}function O(e,u){return{kind:"empty",path:e,mode:u}}function w(e){const u=o=>o.split("/").length;return[...new Map(e.map(o=>[o.path,o])).values()].sort((o,a)=>u(o.path)-u(a.path))}function T(e,u){const r=y(u+e.path);if(e.kind==="bind")return`${y(e.source)} ${r} none bind,${e.access},nosuid,nodev,X-mount.mkdir=0755 0 0`;const o=e.path==="/dev"?"":"nodev,";return`ralph ${r} tmpfs mode=${e.mode},nosuid,${o}X-mount.mkdir=0755 0 0`}function b(e,u){return e===u||e.startsWith(u==="/"?"/":`${u}/`)}function y(e){return e.replace(/[\s\\#]/g,u=>`\\${u.charCodeAt(0).toString(8).padStart(3,"0")}`)}const k=/^(ext[234]|xfs|btrfs|zfs|f2fs|overlay|squashfs|erofs|bcachefs|virtiofs|9p|nfs4?|fuse\.\w+)$/;function C(e){return e.split(`
`).flatMap(u=>{const[r="",o=""]=u.split(" - "),a=r.split(" ")[4];return a!==void 0&&k.test(o.split(" ")[0]??"")?[x(a)]:[]})}function x(e){return e.replace(/\\([0-7]{3})/g,(u,r)=>String.fromCharCode(Number.parseInt(r,8)))}}),89301:((W,L,t)=>{t.d(L,{$i:()=>e,dB:()=>u,yR:()=>g,PX:()=>f,Sg:()=>n});var p=t(73024),$=t(76760),v=t(57075),S=t(58500),E=t(78326),O=t(22835),w=t(14025);async function T({file:i,args:d,timeoutMs:A},U){const{execa:l}=await t.e(6993).then(t.bind(t,16993)),c=[],h=l(i,d,{cwd:"/",env:{LC_ALL:"C",NODE_CHANNEL_FD:"0"},extendEnv:!1,detached:!0,stdio:["ipc","ignore","ignore"],serialization:"json",reject:!1,buffer:!1}),I=new Promise(R=>{h.on("message",(P,D)=>{D!==void 0&&c.push(D),c.length===U&&R(!0)}),h.once("exit",()=>{R(!1)}),h.once("error",()=>{R(!1)})});try{if(await Promise.race([I,(0,S.setTimeout)(A,!1,{ref:!1})]))return c;for(const P of c)P.close();throw new Error(`only ${String(c.length)} of ${String(U)} sockets came`)}finally{h.connected&&h.disconnect(),h.pid!==void 0&&(0,w.sendToGroup)(h.pid,"SIGKILL")}}var b=t(42841),y=t(24196),k=t(6598);const C=15e3,x=3e3,e=`[ -e /run/ralph-room ] || exit 97
`;async function u({root:i,record:d,runFolder:A},U,l){const c=(0,$.join)(d.folder,"root"),h=(0,O.du)(a(U,{...d,runFolder:A}),c),I=(0,$.join)(A,"room.fstab");(0,p.writeFileSync)(I,h.fstab,{mode:384});const R=h.links.flatMap(({path:N,target:_})=>[N,_]),P=await r(i,[I,c,...R]),D=["nsenter","--target",P.pid];try{return{way:[...D,"--mount","--pid","--ipc","--uts","--net","--"],listeners:await o(i,[...D,"--net","--"],{...U,count:l}),lost:P.lost,end:P.end}}catch(N){throw await P.end(),N}}async function r(i,d){const{file:A,args:U}=i.command(["unshare","--mount","--propagation","private","--pid","--ipc","--uts","--net","--fork","--kill-child=KILL","--",(0,p.existsSync)("/bin/bash")?"bash":"sh","-c",(0,y.iD)(k.k9),"ralph-room",...d]),l=new v.PassThrough,c=Promise.withResolvers();let h="",I=!1;const R=(0,b.mB)({file:A,args:U,cwd:"/",environment:{LC_ALL:"C",PATH:y.sg},input:l,timeoutMs:Number.MAX_SAFE_INTEGER,signal:null,family:{kind:"group",graceMs:0,leftover:"end"},outputs:[N=>{c.resolve(N.toString().trim())},N=>{h=(h+N.toString()).slice(-2e3)}]}).then(()=>{I=!0,c.resolve("")}),P=async()=>{l.end(),await Promise.race([R,(0,S.setTimeout)(x,void 0,{ref:!1})])},D=await Promise.race([c.promise,(0,S.setTimeout)(C,"",{ref:!1})]);if(/^\d+$/.test(D))return{pid:D,end:P,lost:()=>I?"The room of the agent was ended while the run used it, by another program on this machine. What was finished before is published. Re-run the workflow.":null};throw await P(),new y.$P((0,E.TN)(h.trim().split(`
`)[0]??"",200)||"namespaces could not be made in time")}async function o(i,d,{worker:A,count:U}){const l=["setpriv",`--reuid=${String(i.owner.uid)}`,`--regid=${String(i.owner.gid)}`,"--clear-groups","--no-new-privs","env","-i","NODE_CHANNEL_FD=0",A.file,...A.args,"listen",String(U)],c={...i.command([...d,...l]),timeoutMs:C};return T(c,U).catch(h=>{throw new y.$P(`the room's network cannot be listened in (${String(h)})`)})}function a({workFolders:i,hidden:d,visible:A,worker:U,environment:l},{folder:c,uid:h,runFolder:I}){const R=M=>[...new Set(M.flatMap(f))],P=Object.fromEntries([["passwd",`ralph:x:${String(h)}:${String(h)}::${c}/home:/bin/sh`],["group",`ralph:x:${String(h)}:`]].map(([M,K])=>{const j=(0,$.join)(c,"inbox",M);return(0,p.writeFileSync)(j,`${g(`/etc/${M}`)}
${K}
`,{mode:420}),[`/etc/${M}`,j]})),D=R([...A,(0,$.dirname)(U.file),...U.args.filter(M=>M.startsWith("/")).map($.dirname),...n(l)]),N=[...R(i),...["home","session","clones","inbox"].map(M=>`${c}/${M}`)],_=R([...O.lX,...d,I,...[...N,...D].flatMap(m)]);return{top:(0,p.readdirSync)("/",{withFileTypes:!0}).map(M=>{const K=`/${M.name}`;return M.isSymbolicLink()?{name:M.name,kind:"link",target:(0,p.readlinkSync)(K)}:{name:M.name,kind:M.isDirectory()?"folder":"other",target:""}}),disks:(0,O._z)(g("/proc/self/mountinfo")).filter(M=>f(M).length>0),hidden:_,readOnly:[...D.filter(M=>_.some(K=>(0,O.UO)(M,K))||s(M)),`${c}/inbox`],writable:[...R(i),`${c}/home`,`${c}/session`,`${c}/clones`],replaced:P}}function m(i){const d=(0,$.dirname)(i);if(d===i)return[];const A=m(d);return A.length===0&&(((0,p.statSync)(d,{throwIfNoEntry:!1})?.mode??0)&1)===0?[d]:A}function s(i){return["/tmp","/var/tmp","/run","/dev/shm"].some(d=>(0,O.UO)(i,d))}function n(i){const d=i.HOME??"",U=(i.PATH??"").split(":").filter(c=>c.startsWith("/")).map(c=>{const h=(0,$.dirname)(c),I=h===d||h==="/"||/\/\.(local|cargo|config)$/.test(h);return c.endsWith("/bin")&&!I?h:c}),l=["RUSTUP_HOME","NVM_DIR","JAVA_HOME","GOROOT","DOTNET_ROOT","ANDROID_HOME","pythonLocation"];return[...U,...[...l,"RUNNER_TOOL_CACHE"].map(c=>i[c]??""),...d===""?[]:[(0,$.join)(d,".rustup")]].filter(c=>c!==d)}function f(i){try{const d=(0,p.realpathSync)(i);return i.startsWith("/")&&d!=="/"&&(0,p.statSync)(d).isDirectory()?[d]:[]}catch{return[]}}function g(i){try{return(0,p.readFileSync)(i,"utf8").trimEnd()}catch{return""}}}),24196:((W,L,t)=>{t.d(L,{$P:()=>S,iD:()=>y,sg:()=>E,wg:()=>b});var p=t(9277),$=t(74974),v=t(78326);class S extends Error{}const E="/usr/sbin:/usr/bin:/sbin:/bin",O=3e4,w=5e3,T=1024*1024;async function b(x){if(process.platform!=="linux")throw new S(`this works on Linux only, and this is ${process.platform}`);const[e=0,u=0]=[process.getuid?.(),process.getgid?.()],r={...x,PATH:E},o=e===0?[]:[k("sudo",r),"-n","--"],a=m=>{const[s="",...n]=[...o,k(m[0],r),...m.slice(1)];return{file:s,args:n}};return e!==0&&await C(a(["true"]),w),{owner:{uid:e,gid:u},command:a,run:(m,s,n=[])=>{const[f="sh",...g]=[...n,"sh","-c",y(m),"ralph",...s];return C(a([f,...g]),O)}}}function y(x){return`PATH=${E}; export PATH
${x}`}function k(x,e){const u=(0,$.trustedProgram)(x,e);if(u===null)throw new S(`\`${x}\` is not installed`);return u}async function C({file:x,args:e},u){const{end:r,stdout:o,stderr:a}=await(0,p.collectOutput)({file:x,args:e,cwd:"/",environment:{LC_ALL:"C",PATH:E},input:"",timeoutMs:u,family:{kind:"group",graceMs:0,leftover:"end"}},T);if(r.kind==="exited"&&r.code===0)return o.toString();const m=a.toString().trim().split(`
`).at(-1)??"";throw new S(m===""?`a program ${(0,p.describeCollected)(r)}`:(0,v.TN)(m,200))}}),6598:((W,L,t)=>{t.d(L,{Ex:()=>T,IZ:()=>p,Nc:()=>b,Nd:()=>y,aI:()=>E,bh:()=>O,k9:()=>$,op:()=>w,t2:()=>k,zl:()=>v});const p=`
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
from=$1 to=$2 top=$3 path=$4
[ -e "$path" ] || exit 0
chown -R -h --from="$from" "$to" "$path" 2>/dev/null ||
  find "$path" -xdev -user "$from" -exec chown -h "$to" {} +
chown -h "$top" "$path"
`,S=`
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
${S}
set -eu
rm -rf "$home"
mkdir -m 0700 "$home"
chown "$uid:$uid" "$home"
`,O=`
setpriv --reuid="$1" --regid="$1" --clear-groups sh -c 'kill "-$0" -1' "$2" 2>/dev/null || :
`,w=`
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
`,k=`
reservations=$1 uid=$2 name=$3 room=$4 session=$5; shift 5
if command -v nft > /dev/null; then nft delete table inet "ralph_$uid" 2> /dev/null; fi
for tables in iptables ip6tables; do
  command -v "$tables" > /dev/null || continue
  "$tables" -w 5 -D OUTPUT -m owner --uid-owner "$uid" -j "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -F "RALPH_$uid" 2> /dev/null
  "$tables" -w 5 -X "RALPH_$uid" 2> /dev/null
done
${S}
if [ -n "$name" ]; then userdel "$name" > /dev/null 2>&1; fi
if [ -n "$(ls -A "$room/session" 2> /dev/null)" ] && [ ! -e "$session" ]; then mv -- "$room/session" "$session"; fi
rm -rf -- "$room"
rmdir "$reservations/ralph-room-$uid" 2> /dev/null
[ ! -e "$room" ]
`}),17258:((W,L,t)=>{t.d(L,{$h:()=>v,Lq:()=>S,lr:()=>p,yS:()=>$});const p="@anthropic-ai/sandbox-runtime",$="0.0.83",v={[p]:{version:$,integrity:"sha512-yEusORnVJrNseF/9fvjVYyk6tr79/aFbIB3T/X8p2puLZdaaiGNeYN50v0CE+1DT70v7XuzKOAnTivh1f5cksA==",dependencies:{"@pondwader/socks5-server":"^1.0.10",commander:"^12.1.0","node-forge":"^1.4.0",zod:"^3.25.0"}},"@pondwader/socks5-server":{version:"1.0.10",integrity:"sha512-bQY06wzzR8D2+vVCUoBsr5QS2U6UgPUQRmErNwtsuI6vLcyRKkafjkr3KxbtGFf9aBBIV2mcvlsKD1UYaIV+sg=="},commander:{version:"12.1.0",integrity:"sha512-Vw8qHK3bZM9y/P10u3Vib8o/DdkvA2OtPtZvD871QKjy74Wj1WSKFILMPRPSdUSx5RFK1arlJzEtA4PkFgnbuA=="},"node-forge":{version:"1.4.3",integrity:"sha512-P6wzfh6t70avmV8FrVEAd/36sOPJQ+hkaJVX1Laap9J/77m7M0eyozDvc8SwnDf4P7MP94gwbAAo0rg3YVXT+g=="},zod:{version:"3.25.76",integrity:"sha512-gzUt/qt81nXsFGKIFcC3YnfEAx5NkunCfnDlvuBSSFS02bcXu4Lmea0AFIUwbLWxWPx3d9p8S5QoaujKcNQxcQ=="}};function S(){const E={name:"ralph-sandbox-runtime",version:"0.0.0",dependencies:{[p]:$}},O=Object.fromEntries(Object.entries(v).map(([T,b])=>[`node_modules/${T}`,b])),w={...E,lockfileVersion:3,requires:!0,packages:{"":E,...O}};return{"package.json":`${JSON.stringify({...E,private:!0})}
`,"package-lock.json":`${JSON.stringify(w)}
`}}}),9277:((W,L,t)=>{t.r(L),t.d(L,{collectOutput:()=>$,describeCollected:()=>v});var p=t(42841);async function $(E,O){const w=new AbortController,[T,b]=[S(O,w),S(O,w)],y=AbortSignal.any([w.signal,...E.signal==null?[]:[E.signal]]),k=await(0,p.mB)({...E,signal:y,outputs:[T.take,b.take]});return{end:w.signal.aborted?{kind:"too-much-output",maxBytes:O}:k,stdout:Buffer.concat(T.chunks),stderr:Buffer.concat(b.chunks)}}function v(E){return E.kind==="too-much-output"?`printed more than ${E.maxBytes/1024/1024} MiB`:(0,p.lA)(E)}function S(E,O){const w=[];let T=0;return{chunks:w,take:y=>{T+=y.length,T>E?O.abort():w.push(y)}}}}),14025:((W,L,t)=>{t.r(L),t.d(L,{RUN_TAG_NAME:()=>v,endTagged:()=>T,endTree:()=>w,membersOf:()=>y,parseStat:()=>e,sendToGroup:()=>b});var p=t(73024),$=t(58500);const v="RALPH_RUN_TAG",S=25,E=500,O=2e3;async function w(o,a){const m=new Set,s=new Set,n=performance.now()+a;for(let f=k(o,m);f.length>0;f=k(o,m)){const g=performance.now();if(g>=n+O)return;const i=f.some(d=>d===o.group);for(const d of f){const A=d===o.group?-d:d;g>=n?r(A,"SIGKILL"):!s.has(d)&&(d===o.group||!i)&&(r(A,"SIGTERM"),s.add(d))}await(0,$.setTimeout)(S)}}function T(o){return w({runTag:o,group:null},E)}function b(o,a){r(-o,a)}function y(o,a,m){const s=new Set(a.filter(n=>n.tagged||n.group===o.group||m.has(C(n))).map(n=>n.pid));for(let n=-1;n<s.size;){n=s.size;for(const f of a)s.has(f.parent)&&s.add(f.pid)}return a.filter(n=>s.has(n.pid))}function k(o,a){if(process.platform!=="linux")return o.group!==null&&r(-o.group,0)?[o.group]:[];const m=y(o,x(o.runTag),a).filter(s=>s.pid!==process.pid&&s.pid!==1);for(const s of m)a.add(C(s));return m.map(s=>s.pid)}function C(o){return`${o.pid}:${o.startedAt}`}function x(o){const a=Buffer.from(`${v}=${o}`);return(0,p.readdirSync)("/proc").filter(m=>/^\d+$/.test(m)).flatMap(m=>{const s=e(u(`/proc/${m}/stat`).toString());return s===null?[]:[{...s,tagged:o!==null&&u(`/proc/${m}/environ`).includes(a)}]})}function e(o){const a=o.slice(o.lastIndexOf(")")+2).split(" "),[m,s,n]=a,f=a[19];return m===void 0||s===void 0||n===void 0||f===void 0||/^[ZX]$/.test(m)?null:{pid:Number.parseInt(o,10),parent:Number(s),group:Number(n),startedAt:f}}function u(o){try{return(0,p.readFileSync)(o)}catch{return Buffer.alloc(0)}}function r(o,a){try{return process.kill(o,a)}catch{return!1}}}),42841:((W,L,t)=>{t.d(L,{Ap:()=>b,lA:()=>k,mB:()=>y});var p=t(57075),$=t(58500),v=t(14025);const S=3e3,E=500,O=1e3,w=2**31-1,T=new Set;process.on("exit",()=>{for(const e of T)(0,v.sendToGroup)(e,"SIGKILL")});function b({room:e,runTag:u}){return e===null?{kind:"run",runTag:u}:{kind:"room",room:e}}async function y(e){const{execa:u}=await t.e(6993).then(t.bind(t,16993));if(e.signal?.aborted===!0)return{kind:"cancelled"};const{family:r}=e,o=r.kind==="room"?await r.room.enter(e):e,a=u(o.file,o.args,{cwd:o.cwd,env:r.kind==="run"?{...e.environment,[v.RUN_TAG_NAME]:r.runTag}:o.environment,extendEnv:!1,detached:!0,stdio:["pipe","pipe","pipe",...e.outputs.slice(2).map(()=>"pipe")],encoding:"buffer",buffer:!1,reject:!1}),m=a.pid;if(m===void 0){const{originalMessage:g,cause:i}=await a;return{kind:"not-started",why:g??"unknown reason",cause:i}}T.add(m);const s=C(a,"exit"),n=C(a,"close");e.outputs.forEach((g,i)=>a.stdio[i+1]?.on("data",g)),a.stdin.on("error",()=>{}),e.input instanceof p.Readable?e.input.pipe(a.stdin):e.input!==null&&a.stdin.end(e.input);const f=x(e);try{const g=r.kind==="group"&&r.leftover==="keep",i=await Promise.race([g?n:s,f.reached]),d=i.kind==="timeout"||i.kind==="cancelled";return g&&!d?i:r.kind==="group"&&!d?(await Promise.race([n,(0,$.setTimeout)(E,void 0,{ref:!1})]),(0,v.sendToGroup)(m,"SIGKILL"),i):(r.kind==="room"?await r.room.end(d?S:E):r.kind==="run"?await(0,v.endTree)({runTag:r.runTag,group:m},d?S:E):await(0,v.endTree)({runTag:null,group:m},r.graceMs),await Promise.race([n,(0,$.setTimeout)(O,void 0,{ref:!1})]),i)}finally{f.forget(),T.delete(m);for(const g of a.stdio)g.destroy()}}function k(e){switch(e.kind){case"exited":return`ended with exit code ${e.code}`;case"signalled":return`was ended by ${e.signal}`;case"timeout":return"took too long";case"cancelled":return"was cancelled";case"not-started":return`cannot be started: ${e.why}`}}function C(e,u){return new Promise(r=>{e.once(u,(o,a)=>{r(o===null?{kind:"signalled",signal:a??"unknown"}:{kind:"exited",code:o})})})}function x({timeoutMs:e,signal:u}){let r=()=>{};return{reached:new Promise(a=>{const m=()=>{a({kind:"cancelled"})},s=setTimeout(()=>{a({kind:"timeout"})},Math.min(e,w));u?.addEventListener("abort",m,{once:!0}),r=()=>{clearTimeout(s),u?.removeEventListener("abort",m)}}),forget:r}}}),74974:((W,L,t)=>{t.r(L),t.d(L,{trustedEnvironment:()=>b,trustedPath:()=>T,trustedProgram:()=>w});var p=t(73024),$=t(76760),v=t(36624);const S=["/usr/bin","/bin","/usr/sbin","/sbin"],E=["tar","gtar","zstd"],O=new Map;function w(n,f){const g=JSON.stringify([n,...y.map(d=>f[d]??"")]);let i=O.get(g);if(i===void 0){const d=k(n,f);i=d===null?null:{path:d,identity:m(d)},O.set(g,i)}if(i===null)return null;if(m(i.path)!==i.identity)throw s(i.path);return i.path}function T(n){const f=["git",...E].flatMap(d=>{const A=w(d,n);return A===null?[]:[(0,$.dirname)(A)]}),g=[...new Set([...S,...f])],i=d=>!u(d);return[...g.filter(i),...g.filter(d=>!i(d))].join($.delimiter)}function b(n){return{LC_ALL:"C",PATH:T(n)}}const y=["PATH","HOME","GITHUB_WORKSPACE","RUNNER_TEMP","TMPDIR"];function k(n,f){const d=(f.PATH??"").split($.delimiter).filter(l=>(0,$.isAbsolute)(l)).map(l=>(0,$.join)(l,n)).filter(e).filter(l=>!x(l,C(f))),A=f.HOME??"",U=d.filter(l=>A===""||A==="/"||!x(l,[A]));return U.find(l=>!u(l))??U[0]??d[0]??null}function C(n){return[n.GITHUB_WORKSPACE,n.RUNNER_TEMP,n.TMPDIR??"/tmp"].filter(f=>f!==void 0&&f!==""&&f!=="/")}function x(n,f){const g=(i,d)=>(i+$.sep).startsWith((0,$.resolve)(d)+$.sep);return f.some(i=>g((0,$.resolve)(n),i)||g((0,p.realpathSync)(n),i))}function e(n){try{return(0,p.accessSync)(n,p.constants.X_OK),(0,p.statSync)(n).isFile()}catch{return!1}}function u(n){return[...new Set([(0,$.resolve)(n),a(n)])].some(g=>r(g).some(o))}function r(n){const f=(0,$.dirname)(n);return f===n?[n]:[n,...r(f)]}function o(n){try{return(0,p.accessSync)(n,p.constants.W_OK),!0}catch{return!1}}function a(n){try{return(0,p.realpathSync)(n)}catch{return n}}function m(n){const{dev:f,ino:g,size:i,mtimeMs:d,ctimeMs:A}=(0,p.statSync)(n,{throwIfNoEntry:!1})??{};return[f,g,i,d,A].join(":")}function s(n){return new v.yo("infrastructure",`${n} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`)}}),66357:((W,L,t)=>{t.r(L),t.d(L,{isolate:()=>a});const p=/^(HOME|USER|LOGNAME|SHELL|MAIL|TMPDIR|TMP|TEMP|https?_proxy|no_proxy|all_proxy|RUNNER_TRACKING_ID|XDG_\w+|SSH_AUTH_SOCK|DBUS_\w+|GNUPGHOME)$/i,$=/^(CARGO_HOME|RUSTUP_HOME|GOPATH|GOROOT|NVM_DIR|JAVA_HOME|PYTHONPATH|pythonLocation|DOTNET_ROOT|ANDROID_HOME|RUNNER_TOOL_CACHE)$/,v="127.0.0.1,localhost,::1";function S(l,{home:c,proxyPort:h,isVisible:I}){const R=Object.entries(l).filter(([D,N])=>!p.test(D)&&!($.test(D)&&N.split(":").some(_=>_!==""&&!I(_)))),P=h===null?null:`http://127.0.0.1:${String(h)}`;return{...Object.fromEntries(R),HOME:c,USER:"ralph",LOGNAME:"ralph",SHELL:"/bin/sh",TMPDIR:"/tmp",NO_PROXY:v,no_proxy:v,...P===null?{}:{HTTP_PROXY:P,HTTPS_PROXY:P,http_proxy:P,https_proxy:P,NODE_USE_ENV_PROXY:"1",JAVA_TOOL_OPTIONS:[l.JAVA_TOOL_OPTIONS??"",...E(String(h))].join(" ").trim()}}}function E(l){return["http","https"].flatMap(c=>[`-D${c}.proxyHost=127.0.0.1`,`-D${c}.proxyPort=${l}`,`-D${c}.nonProxyHosts=localhost|127.*|[::1]`])}var O=t(7495),w=t(96874);const T=new Set(["schedule","workflow_dispatch","repository_dispatch","push"]);function b(l){return!T.has(l)}var y=t(37558),k=t(46262),C=t(36624),x=t(98215),e=t(58368),u=t(53650);const r=500,o=new Set(["write to the work tree","write to its home","reach the broker"]);async function a(l){const{config:c,context:h}=l,{wanted:I}=c.isolation,R=I==="none"?null:i(l);R?.catch(()=>{});const P=[];let D=null;for(const M of(0,w.GW)(I)){const K=await m(l,M,(0,e.roomOptions)(l)).catch(j=>(0,C.bD)(j));if(typeof K!="string"){D=K;break}P.push({level:M,why:K})}const N=b(h.event.name),_=(0,w.E3)(I,{reached:D?.level??null,failed:P,byOutsiders:N});if(_.kind==="unusable")throw new C.yo("configuration",_.problem);return _.why!==null&&D===null&&l.log.warning(_.why),D===null||R===null?(0,u.p)(_.why):n(l,{opened:D,hosts:R,why:_.why})}async function m(l,c,h){if(c!=="sandbox"){const{openRoom:_}=await t.e(2163).then(t.bind(t,42163));return await _(c,h)}const[{openSandboxRoom:I},{installSandboxRuntime:R}]=await Promise.all([t.e(9687).then(t.bind(t,9687)),t.e(8731).then(t.bind(t,28731))]),{environment:P,runTag:D}=l;return await I({...h,runtime:()=>R({folder:(0,e.runtimeFolder)(l),environment:P,runTag:D})})}const s=["anthropic.com","*.anthropic.com","claude.ai","*.claude.ai","claude.com","*.claude.com"];async function n(l,{opened:c,hosts:h,why:I}){const{config:R,context:P,log:D}=l,{room:N,level:_}=c,M=(0,e.roomOptions)(l),{createEgress:K}=await t.e(9717).then(t.bind(t,69717));let j={kind:"listed",hosts:[]};const X=K({get allowed(){return j},never:A(l),upstreamFor:await(0,x.L8)()}),V=await c.listen(X.server);let F=null;async function J(H){j=await h;const z=await c.limitNetwork([V,...H===null?[]:[H]])?j.kind==="any"?"any":"limited":"open";await N.give(N.folders.session);const{probeRoom:Q}=await t.e(7135).then(t.bind(t,7135)),B=await Q(l,c,{brokerPort:H,proxyPort:V,network:z});F={network:z,keyHidden:H!==null,probe:B,processesLeft:null};const G=U(B);if(G===null)return;const{can:Z,cannot:q}=(0,y.Pr)(B?.failed??[]),{wanted:tt}=R.isolation;if(q.some(nt=>o.has(nt)))throw new C.yo("infrastructure",`The isolated agent cannot work on this runner: ${G}. No call was made. Use another runner, or set \`isolation\` to a weaker level.`);if((tt!=="auto"||b(P.event.name))&&(B===null||Z.length>0))throw new C.yo("configuration",`The isolation of the agent (\`${_}\`) does not hold on this runner: ${G}. No call was made. Use another runner, or accept the risk with \`isolation: none\`.`);D.warning(`The agent is not isolated as it should be: ${G}.`)}return{room:N,environmentFor:H=>S(H,{home:N.folders.home,proxyPort:V,isVisible:Y=>!(0,e.isHiddenFolder)(Y,M)}),listen:H=>c.listen(H),begin:J,count:async()=>{const H=await N.end(r);if(F!==null&&(F={...F,processesLeft:H.length}),H.length===0&&await N.takeBack(N.folders.session),H.length>0)throw new C.yo("infrastructure",`Processes of the agent cannot be ended: ${(0,k.eZ)(H)}. What was finished before is published. Restart the runner.`)},facts:()=>F===null?null:{level:_,why:I,allowedHosts:j.kind==="any"?0:j.hosts.length,refused:X.refused(),...F},close:async()=>{await X.close();const H=await c.close();return H.length===0?null:`Processes of the agent are still there: ${(0,k.eZ)(H)}.`}}}const f=3e3,g=256*1024;async function i({config:l,environment:c}){const h=l.isolation.hosts;if(h.kind!=="registries-and")return(0,O.uV)(h,[]);const[{registryHosts:I},{collectOutput:R}]=await Promise.all([t.e(6216).then(t.bind(t,46216)),Promise.resolve().then(t.bind(t,9277))]),P=Object.entries(c).filter(N=>N[1]!==void 0),D=await I({environment:c,run:async(N,_)=>{const{end:M,stdout:K}=await R({file:N,args:_,environment:d(P),input:"",timeoutMs:f,cwd:"/",family:{kind:"group",graceMs:0,leftover:"end"}},g);return M.kind==="exited"&&M.code===0?K.toString():null}});return(0,O.uV)(h,D)}function d(l){return Object.fromEntries(l.filter(([c])=>!/TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY$|API_?KEY|^INPUT_|^ACTIONS_/i.test(c)))}function A({environment:l}){const c=Object.entries(l).filter(([h])=>/^ANTHROPIC_(\w+_)?BASE_URL$/.test(h));return[...s,...c.flatMap(([,h])=>URL.parse(h??"")?.hostname??[])]}function U(l){if(l===null)return"what it can reach could not be checked from its place";const{can:c,cannot:h,unknown:I}=(0,y.Pr)(l.failed),R=[...c.map(P=>`it can ${P}`),...h.map(P=>`it cannot ${P}`),...I];return R.length===0?null:(0,k.eZ)(R)}}),58368:((W,L,t)=>{t.r(L),t.d(L,{ROOM_PLACES:()=>w,installFolder:()=>T,isHiddenFolder:()=>u,roomOptions:()=>k,roomWorker:()=>y,runtimeFolder:()=>b});var p=t(73024),$=t(48161),v=t(76760),S=t(22835),E=t(89301),O=t(17258);const w={rooms:"/var/tmp",reservations:"/run"};function T({config:r,context:o,environment:a}){return(0,v.join)(a.RUNNER_TOOL_CACHE??o.temp,"ralph-action",`claude-code-${r.agent.version}`)}function b(r){return(0,v.join)((0,v.dirname)(T(r)),`sandbox-runtime-${O.yS}`)}function y(r){return{file:process.execPath,args:[(0,v.join)(r,"dist","room-worker.js")]}}function k(r){const{environment:o,context:a,runFolder:m,actionFolder:s,config:n}=r,f=(0,v.dirname)(T(r));n.agent.path===null&&(0,p.mkdirSync)(f,{recursive:!0});const g=(0,v.dirname)(a.temp);return{environment:o,runFolder:m,workFolders:[a.workspace],hidden:[(0,$.homedir)(),o.HOME??"",a.temp,...C(g)?[g]:[]],visible:[(0,v.join)(s,"dist"),(0,v.dirname)(process.execPath),...n.agent.path===null?[f]:x(n.agent.path)],worker:y(s),places:w}}function C(r){return!["/","/tmp","/var","/usr","/opt","/etc","/var/tmp","/dev/shm","/home"].includes(r)}function x(r){const o=e(r),a=/^(.*\/node_modules)\//.exec(o)?.[1];return[(0,v.dirname)(r),a??(0,v.dirname)(o)]}function e(r){try{return(0,p.realpathSync)(r)}catch{return r}}function u(r,{hidden:o,visible:a,workFolders:m,environment:s}){const n=[...a,...m,...(0,E.Sg)(s)],f=g=>g.some(i=>i!==""&&(0,S.UO)(r,i));return f([...S.lX,...o])&&!f(n)}})};export{ot as id,st as ids,rt as modules};
