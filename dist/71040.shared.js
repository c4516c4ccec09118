const x={71040:((L,E,a)=>{a.d(E,{de:()=>f,i5:()=>C,iD:()=>g,im:()=>l,uf:()=>y,wN:()=>R,xV:()=>I});var h=a(50157),u=a(11035),r=a(43322);const $=2e4,l=120,M=40,d=2e3;function g(t){const n=_(t).filter(o=>!j(o)),[e="",...s]=n.slice(n.findIndex(o=>o!=="")),i=D(s);return[f(e),(0,r.yA)((0,r.m3)((0,r.Nc)(b(i))),d)].filter(o=>o!=="").join(`

`)}function f(t){const n=_(t).join(" ").replace(/\s+/g," ").trim();return(0,r.yA)((0,r.m3)((0,r.Nc)((0,r.IN)(n,4*l))),l)}function R(t){const n=(0,h.s0)(t);return t.source.kind==="issue"?n:(0,r.D4)(n,l)}function I(t){const{title:n,name:e,summary:s,earlier:i,attempt:o}=t,m=p(s),c=i.some(B=>p(B)===m)?"":m,k=c===""?o>1?`${n} (iteration ${o})`:n:c,v=c===""?`Part of ${e}`:`Part of ${e}: ${n}`;return`${k}

${v}`}function p(t){return f(O(t))}function O(t){const n=t.trim().split(`
`)[0]??"";return(/^.*?[^.\s][.!?](?=\s)/.exec(n)?.[0]??n).replace(/\.$/,"")}function _(t){const n=(0,u.Kw)((0,u.y1)((0,r.IN)(t,$).toWellFormed().replace(r.UY,"")));let e="",s=0;for(const{start:i,end:o}of(0,u.s)(n))e+=n.slice(s,i),s=o;return(e+n.slice(s)).split(`
`).map(i=>i.replaceAll("	","  ").trimEnd())}function j(t){return/^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(t)}const w=/^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i,A=/^[a-z\d-]+\s*[:=]/i;function D(t){const n=[];let e=!1;for(const i of t)e=w.test(i)||e&&/^\s+\S/.test(i),e||n.push(i);const s=n.join(`
`).split(/\n{2,}/).map(i=>i.replace(/^\n+|\n+$/g,"")).filter(i=>i!=="");for(;T(s.at(-1));)s.pop();return s.join(`

`)}function T(t){if(t===void 0)return!1;const n=t.split(`
`);return A.test(n[0]??"")&&n.every(e=>A.test(e)||/^\s/.test(e))}function b(t){return(0,r.IN)(t.split(`
`).slice(0,M).join(`
`),d).trimEnd()}function y(t,{names:n,coAuthors:e}){const s=t.trimEnd().split(/\n{2,}/);return(s.length>1?(s.pop()??"").split(`
`):[]).find(c=>!N(c,e))!==void 0?"its trailers are not those of this run":s.flatMap(c=>c.split(`
`)).some(c=>S(P(c,n)))?"its message mentions, closes or steers something":null}function C(t){const n=t.trimEnd().split(/\n{2,}/).slice(1).at(-1);return/^Ralph-Task: ([\w.-]+)$/m.exec(n??"")?.[1]??null}function N(t,n){const[,e="",s=""]=/^([A-Za-z-]+): (.*)$/.exec(t)??[];return e==="Co-authored-by"?n.includes(s):/^Ralph-(?:Run|Iteration|Task)$/.test(e)&&/^[\w.-]+$/.test(s)}function P(t,n){const e=n.find(s=>t===`Part of ${s}`||t.startsWith(`Part of ${s}: `));return e===void 0?t:t.slice(`Part of ${e}`.length)}function S(t){return/@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(t)||(0,r.ff)(t)||/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(t)}})};export{x as modules};
