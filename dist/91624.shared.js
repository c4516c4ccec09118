const h={91624:((x,i,t)=>{t.d(i,{NB:()=>$,Se:()=>y,d2:()=>f});var l=t(73024),c=t(10527),p=t(43322),_=t(74974),u=t(67597);const m={perl:`
my ($close, $keyctl, $prctl, $filter, @program) = @ARGV;
if (opendir my $open, "/proc/self/fd") { syscall($close + 0, $_ + 0) for grep { /^\\d+$/ && $_ > 2 } readdir $open }
syscall($keyctl + 0, 1, 0);
my $code = pack "H*", $filter;
my $handed = pack "S x6 P", length($code) / 8, $code;
syscall($prctl + 0, 22, 2, $handed, 0, 0);
exec { $program[0] } @program or exit 127;
`,python:`
import ctypes, os, signal, struct, sys
_, keyctl, prctl, code, *program = sys.argv[1:]
os.closerange(3, 1 + max(map(int, os.listdir("/proc/self/fd"))))
call = ctypes.CDLL(None).syscall
call(int(keyctl), 1, 0)
code = ctypes.create_string_buffer(bytes.fromhex(code), len(code) // 2)
call(int(prctl), 22, 2, struct.pack("H6xQ", len(code) // 8, ctypes.addressof(code)), 0, 0)
for ignored in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(ignored, signal.SIG_DFL)
os.execv(program[0], program)
`},g={perl:`
my @words = map { /^-?\\d+$/ ? $_ + 0 : $_ } @ARGV;
exit 0 if syscall(shift @words, @words) >= 0;
exit((grep { $! == $_ } 1, 13, 38, 97) ? 1 : 0);
`,python:`
import ctypes, sys
kernel = ctypes.CDLL(None, use_errno=True)
words = [int(word) if word.lstrip("-").isdigit() else word.encode() for word in sys.argv[1:]]
sys.exit(int(kernel.syscall(*words) < 0 and ctypes.get_errno() in (1, 13, 38, 97)))
`};function a(){const e=(0,c.K)(process.arch),[r,s]=["perl","python3"].map(n=>(0,_.findTrustedProgram)(n,{PATH:u.SYSTEM_PATH}));return e===null?null:r!=null?{name:"perl",argv:[r,"-e"],numbers:e}:s==null?null:{name:"python",argv:[s,"-I","-S","-c"],numbers:e}}function y(){const e=a(),r=(0,c.V)(process.arch);if(e===null||r===null)return[];const{argv:s,name:n,numbers:o}=e;return[...s,m[n],...[o.close,o.keyctl,o.prctl].map(String),r]}function f(){const e=a();return e===null?null:{argv:[...e.argv,g[e.name]],numbers:e.numbers}}function $(e){const r=d(e);return r.length>0?r:d(e)}function d(e){return(0,l.readdirSync)("/proc").flatMap(r=>{const s=/^\d+$/.test(r)?P(r):"",[,n=""]=/^Name:\t(.*)$/m.exec(s)??[],[,o="Z"]=/^State:\t(\w)/m.exec(s)??[],[,E=""]=/^Uid:\t(.*)$/m.exec(s)??[];return E.split("	").includes(String(e))&&!/[ZX]/.test(o)?[{pid:Number(r),name:(0,p.GX)(n,30)}]:[]})}function P(e){try{return(0,l.readFileSync)(`/proc/${e}/status`,"utf8")}catch{return""}}})};export{h as modules};
