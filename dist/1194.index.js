import{modules as B}from"./78571.shared.js";import{modules as L}from"./7631.shared.js";const K=1194,X=[1194],Y={...B,...L,71040:((z,A,a)=>{a.d(A,{de:()=>f,i5:()=>C,iD:()=>g,im:()=>l,uf:()=>y,wN:()=>R,xV:()=>I});var E=a(50157),u=a(11035),i=a(43322);const $=2e4,l=120,M=40,d=2e3;function g(t){const e=_(t).filter(o=>!j(o)),[s="",...n]=e.slice(e.findIndex(o=>o!=="")),r=D(n);return[f(s),(0,i.yA)((0,i.m3)((0,i.Nc)(b(r))),d)].filter(o=>o!=="").join(`

`)}function f(t){const e=_(t).join(" ").replace(/\s+/g," ").trim();return(0,i.yA)((0,i.m3)((0,i.Nc)((0,i.IN)(e,4*l))),l)}function R(t){const e=(0,E.s0)(t);return t.source.kind==="issue"?e:(0,i.D4)(e,l)}function I(t){const{title:e,name:s,summary:n,earlier:r,attempt:o}=t,m=p(n),c=r.some(v=>p(v)===m)?"":m,k=c===""?o>1?`${e} (iteration ${o})`:e:c,x=c===""?`Part of ${s}`:`Part of ${s}: ${e}`;return`${k}

${x}`}function p(t){return f(O(t))}function O(t){const e=t.trim().split(`
`)[0]??"";return(/^.*?[^.\s][.!?](?=\s)/.exec(e)?.[0]??e).replace(/\.$/,"")}function _(t){const e=(0,u.Kw)((0,u.y1)((0,i.IN)(t,$).toWellFormed().replace(i.UY,"")));let s="",n=0;for(const{start:r,end:o}of(0,u.s)(e))s+=e.slice(n,r),n=o;return(s+e.slice(n)).split(`
`).map(r=>r.replaceAll("	","  ").trimEnd())}function j(t){return/^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(t)}const w=/^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i,h=/^[a-z\d-]+\s*[:=]/i;function D(t){const e=[];let s=!1;for(const r of t)s=w.test(r)||s&&/^\s+\S/.test(r),s||e.push(r);const n=e.join(`
`).split(/\n{2,}/).map(r=>r.replace(/^\n+|\n+$/g,"")).filter(r=>r!=="");for(;T(n.at(-1));)n.pop();return n.join(`

`)}function T(t){if(t===void 0)return!1;const e=t.split(`
`);return h.test(e[0]??"")&&e.every(s=>h.test(s)||/^\s/.test(s))}function b(t){return(0,i.IN)(t.split(`
`).slice(0,M).join(`
`),d).trimEnd()}function y(t,{names:e,coAuthors:s}){const n=t.trimEnd().split(/\n{2,}/);return(n.length>1?(n.pop()??"").split(`
`):[]).find(c=>!N(c,s))!==void 0?"its trailers are not those of this run":n.flatMap(c=>c.split(`
`)).some(c=>S(P(c,e)))?"its message mentions, closes or steers something":null}function C(t){const e=t.trimEnd().split(/\n{2,}/).slice(1).at(-1);return/^Ralph-Task: ([\w.-]+)$/m.exec(e??"")?.[1]??null}function N(t,e){const[,s="",n=""]=/^([A-Za-z-]+): (.*)$/.exec(t)??[];return s==="Co-authored-by"?e.includes(n):/^Ralph-(?:Run|Iteration|Task)$/.test(s)&&/^[\w.-]+$/.test(n)}function P(t,e){const s=e.find(n=>t===`Part of ${n}`||t.startsWith(`Part of ${n}: `));return s===void 0?t:t.slice(`Part of ${s}`.length)}function S(t){return/@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(t)||(0,i.ff)(t)||/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(t)}})};export{K as id,X as ids,Y as modules};
