const at={24354:((nt,C,u)=>{u.r(C),u.d(C,{renderHistoryPage:()=>Z});var j=u(87140),A=u(43322),b=u(96747),B=u(49202);const K=26,q=8,O=7*j.sO,$={height:190,top:18,plot:140,label:182},w=9;function G(t){const e=I(t),a=e.map(({group:n})=>n===null?[]:[{name:"untouched",value:n.untouched},{name:"changed",value:n.judged-n.untouched},{name:"unknown",value:n.merged-n.judged}]),s=R(Math.max(...a.map(D))),o=e.map(({group:n})=>n===null?"no task":`${(0,b.B4)(n.merged,"task")} merged, ${String(n.untouched)} untouched, ${String(n.reverted)} reverted`);return N("Merged tasks per week",{shown:e,bars:a,texts:o,top:s,format:String})}function L(t){const e=I(t),a=e.map(({group:r})=>r===null?null:(0,B.computeMergedTaskCost)(r)),s=a.map(r=>r===null?[]:[{name:"cost",value:r}]),o=e.map(({group:r},l)=>{const p=a[l]??null;return p!==null?`${(0,b.BD)(p)} per merged task`:(r?.merged??0)>0?"cost unknown":"no merged task"}),n=U(Math.max(...s.map(D)));return N("Cost per merged task, per week",{shown:e,bars:s,texts:o,top:n,format:X})}function I(t){const e=new Map(t.map(n=>[n.name??"",n])),a=Date.parse(t.at(-1)?.name??"1970-01-05"),s=Date.parse(t[0]?.name??"1970-01-05"),o=Math.min(K,Math.max(q,(a-s)/O+1));return Array.from({length:o},(n,r)=>{const l=(0,B.formatWeek)(a-(o-1-r)*O);return{monday:l,group:e.get(l)??null}})}function N(t,{shown:e,bars:a,texts:s,top:o,format:n}){const r=(100-w)/e.length,l=[0,o/2,o].map(i=>{const d=k(y(i,o));return`<line x1="${g(w)}" x2="100%" y1="${d}" y2="${d}"/><text x="${g(w-1.5)}" y="${k(y(i,o)+4)}" text-anchor="end">${n(i)}</text>`}),p=a.map((i,d)=>{let x=0;const T=i.map(({name:W,value:v})=>{const[et,P]=[y(x,o),y(x+v,o)];return x+=v,v===0?"":`<rect class="${W}" x="${g(w+(d+.14)*r)}" width="${g(.72*r)}" y="${k(P)}" height="${k(et-P)}"/>`}),M=`<rect class="hit" x="${g(w+d*r)}" width="${g(r)}" y="0" height="${k($.top+$.plot)}"/>`;return`<g><title>Week from ${e[d]?.monday??""}: ${s[d]??""}</title>${M}${T.join("")}</g>`}),f=e.length-1,S=[...new Set([0,Math.round(f/2),f])].map(i=>{const d=i===0?"start":i===f?"end":"middle",x=w+(i===0?0:i===f?e.length:i+.5)*r;return`<text x="${g(x)}" y="${k($.label)}" text-anchor="${d}">${Y(e[i]?.monday??"")}</text>`});return`<svg role="img" aria-label="${t}" width="100%" height="${String($.height)}">${[...l,...p,...S].join("")}</svg>`}function y(t,e){return $.top+$.plot*(1-t/e)}function R(t){const e=Math.max(2,2*10**Math.floor(Math.log10(Math.max(1,t/2))));return Math.max(2,Math.ceil(t/e)*e)}function U(t){const e=10**Math.floor(Math.log10(Math.max(.1,t))),a=[1,2,4,6,8,10].find(s=>s*e>=t)??10;return Number((a*e).toPrecision(2))}function X(t){return`$${Number.isInteger(t)?String(t):t.toFixed(2)}`}function D(t){return t.reduce((e,{value:a})=>e+a,0)}function Y(t){return new Date(t).toUTCString().slice(5,11).replace(/^0/,"")}function g(t){return`${String(Math.round(t*100)/100)}%`}function k(t){return String(Math.round(t*10)/10)}var h=u(28285);const m={weeks:26,others:12,tasks:40};function Z(t){const{history:e,tasks:a,repository:s,now:o}=t,n=s?.split("/").slice(-2).join("/")??"",r=n===""?"What merged tasks cost":`What merged tasks cost: ${n}`;return`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${c(r)}</title>
<style>
${tt}</style>
</head>
<body>
<main>
<header>
<h1>What merged tasks cost</h1>
<p>${[...s===null?[]:[H(s,n)],(0,h.zW)(e.all),(0,j.r4)(o)].join(" · ")}</p>
</header>
${e.all.tasks===0?"<p>No run has published a pull request yet.</p>":J(e,a,s)}
</main>
</body>
</html>
`}function J(t,e,a){const s=(0,h.$q)(t.all),o=(0,h.rl)(t.all);return`<dl class="cards">
${h.sF.map(n=>`<div><dt>${n}</dt><dd>${s[n]}</dd></div>`).join(`
`)}
</dl>
${o.length===0?"":`<p class="note">${c(o.join(" "))}</p>
`}<div class="charts">
<figure>
<figcaption>Merged tasks per week <span class="legend"><span><i class="untouched"></i>untouched</span> <span><i class="changed"></i>changed by people</span> <span><i class="unknown"></i>unknown</span></span></figcaption>
${G(t.weeks)}
</figure>
<figure>
<figcaption>Cost per merged task, per week <span class="legend">on average, of those whose cost is known</span></figcaption>
${L(t.weeks)}
</figure>
</div>
${z("By label","label",t.labels.slice(0,m.others))}
${z("By agent","agent",t.agents.slice(0,m.others))}
${z("By model","model",t.models.slice(0,m.others))}
<details>
<summary>By week</summary>
${F("week",t.weeks.toReversed().slice(0,m.weeks))}
</details>
<section>
<h2>Tasks</h2>
<table class="tasks">
<thead><tr><th>task</th><th>ended</th><th class="n">cost</th><th class="n">iterations</th><th class="n">label to merge</th><th>agent or model</th></tr></thead>
<tbody>
${e.slice(0,m.tasks).map(n=>Q(n,a)).join(`
`)}
</tbody>
</table>
${e.length>m.tasks?`<p class="note">${(0,A.Ij)(e.length-m.tasks).trim()}</p>
`:""}</section>
<footer>Costs include an equal part of what answers to reviews and checks of the pull request cost. “Untouched” means merged without a commit of a person, “review rounds” are runs that answered reviews, per merged task, “label to merge” is the median, and “reverted” means within 30 days.</footer>`}function z(t,e,a){return`<section>
<h2>${t}</h2>
${F(e,a)}
</section>`}function F(t,e){const a=e.map(s=>{const o=(0,h.$q)(s),n=h.sF.map(r=>`<td class="n">${o[r]}</td>`);return`<tr><th scope="row">${c((0,h.I8)(s,t))}</th>${n.join("")}</tr>`});return`<table class="groups">
<thead><tr><th>${t}</th>${h.sF.map(s=>`<th class="n">${s}</th>`).join("")}</tr></thead>
<tbody>
${a.join(`
`)}
</tbody>
</table>`}function Q(t,e){const{title:a,pullRequest:s,labels:o,agent:n,model:r,iterations:l,costUsd:p,labelledAt:f,endedAt:S,end:i}=t,d=`#${String(s)}`,x=e===null?d:H(`${e}/pull/${String(s)}`,d),T=o.map(v=>`<span class="label">${c(v)}</span>`).join(" "),M=i!=="merged"||f===null||S===null?null:(0,h.sR)(S-f),W=[`<td>${c(V(t))}</td>`,`<td class="n">${p===null?`unknown${E("cost")}`:(0,b.BD)(p)}</td>`,`<td class="n">${String(l)}${E(l===1?"iteration":"iterations")}</td>`,M===null?'<td class="n none">–</td>':`<td class="n">${M}${E("to merge")}</td>`,`<td>${c(r??n??"unknown agent")}</td>`];return`<tr><th scope="row">${c(a)} ${x} ${T}</th>${W.join("")}</tr>`}function E(t){return`<span class="word">&nbsp;${t}</span>`}function V({end:t,endedAt:e,isUntouched:a,peopleCommits:s,reviewRounds:o,revertedAt:n}){const r=e===null?"":` ${(0,j.r4)(e).slice(0,10)}`,l={open:"open",merged:"merged",unfinished:"not merged",closed:"closed"}[t],p=a===!1?[(0,b.B4)(s??1,"commit").concat(" by people")]:[];return[`${l}${r}`,...a===!0?["untouched"]:p,...o===0?[]:[(0,b.B4)(o,"review round")],...n===null?[]:["reverted"]].join(", ")}function H(t,e){return/^https?:\/\//.test(t)?`<a href="${c(t)}">${c(e)}</a>`:c(e)}const _={"&":"&amp;","<":"&lt;",">":"&gt;",'"':"&quot;","'":"&#39;"};function c(t){return t.replace(/[&<>"']/g,e=>_[e]??"")}const tt=`:root {
  color-scheme: light dark;
  --back: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #57606a; --line: #d8dee4; --link: #0860c9;
  --untouched: #1f7a4d; --changed: #d98e04; --unknown: #8c959f; --cost: #3b6fd4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0e1116; --card: #171b22; --text: #e8ebef; --soft: #9aa4b0; --line: #2d343d; --link: #6cb0ff;
    --untouched: #3fb27f; --changed: #e3a534; --unknown: #77818c; --cost: #6a9cf5;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { width: min(1120px, 100%); margin: 0 auto; padding: 28px 20px 40px; }
h1 { margin: 0; font-size: 26px; line-height: 1.25; }
h2 { margin: 0 0 10px; font-size: 17px; }
header p, .note, footer { margin: 10px 0 0; color: var(--soft); }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
.cards { display: grid; grid-template-columns: repeat(6, 1fr); gap: 12px; margin: 22px 0 0; }
.cards div, figure, section, details { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.cards div { display: flex; flex-direction: column; justify-content: space-between; padding: 12px 14px; }
dt { color: var(--soft); font-size: 13px; }
dd { margin: 2px 0 0; font-size: 24px; font-weight: 600; line-height: 1.2; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; margin-top: 16px; }
figure { margin: 0; padding: 14px 16px 6px; min-width: 0; }
figcaption { font-weight: 600; }
.legend { display: block; color: var(--soft); font-size: 13px; font-weight: 400; }
.legend i { display: inline-block; width: 10px; height: 10px; margin-right: 4px; border-radius: 2px; }
.legend span { margin-right: 6px; white-space: nowrap; }
svg { display: block; margin-top: 8px; overflow: visible; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg line { stroke: var(--line); }
.untouched { fill: var(--untouched); background: var(--untouched); }
.changed { fill: var(--changed); background: var(--changed); }
.unknown { fill: var(--unknown); background: var(--unknown); }
.cost { fill: var(--cost); }
.hit { fill: transparent; }
g:hover .hit { fill: var(--line); fill-opacity: .4; }
section, details { margin-top: 16px; padding: 14px 16px; }
summary { font-size: 17px; font-weight: 700; cursor: pointer; }
summary + table { margin-top: 10px; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 7px 8px; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { overflow-wrap: normal; border: 0; vertical-align: bottom; color: var(--soft); font-size: 13px; font-weight: 400; }
tbody th { font-weight: 500; }
td { font-variant-numeric: tabular-nums; }
.n { text-align: right; white-space: nowrap; }
.groups th:first-child { width: 25%; }
.groups .n { width: 12.5%; white-space: normal; }
.tasks { table-layout: fixed; }
.tasks thead th { width: 8%; }
.tasks thead th:nth-child(1) { width: 38%; }
.tasks thead th:nth-child(2) { width: 20%; }
.tasks thead th:nth-child(5) { width: 10%; }
.tasks thead th:nth-child(6) { width: 16%; }
.tasks td:last-child, .tasks th:last-child { padding-left: 16px; }
.word { display: none; }
.label { padding: 0 7px; border: 1px solid var(--line); border-radius: 10px; color: var(--soft); font-size: 12px; font-weight: 400; }
footer { margin-top: 20px; font-size: 13px; }
@media (width <= 900px) {
  .cards { grid-template-columns: repeat(3, 1fr); }
  .charts { grid-template-columns: 1fr; }
}
@media (width <= 640px) {
  main { padding: 18px 12px 28px; }
  .cards { grid-template-columns: repeat(2, 1fr); gap: 8px; }
  section, details { padding: 12px; }
  table, thead, tbody { display: block; }
  tr { display: grid; grid-template-columns: 1fr 1.5fr 1.2fr 1fr 1fr 1fr; gap: 2px 6px; padding: 8px 0; border-top: 1px solid var(--line); }
  thead tr { padding: 0 0 6px; border: 0; }
  th, td { padding: 0; border: 0; }
  thead th { align-self: end; font-size: 11px; line-height: 1.25; }
  thead th:first-child { display: none; }
  tbody th { grid-column: 1 / -1; }
  .groups .n, .groups th:first-child { width: auto; }
  .groups td { font-size: 14px; }
  .tasks thead { display: none; }
  .tasks tr { display: block; }
  .tasks th { display: block; margin-bottom: 2px; }
  .tasks td, .tasks td:last-child { display: inline; padding: 0; color: var(--soft); font-size: 13px; white-space: normal; }
  .tasks td + td::before { content: ' · '; }
  .tasks .none { display: none; }
  .word { display: inline; }
}
`})};export{at as modules};
