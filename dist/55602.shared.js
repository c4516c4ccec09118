const x={55602:((E,m,l)=>{l.r(m),l.d(m,{kindOfDenial:()=>N,mapRules:()=>g});var o=l(84554);function g(e){const t=e.map(o.us),r=t.map(n=>({rule:n,lines:w(n)})),$=r.some(({rule:n,lines:d})=>n.kind==="command"&&d.length>0);return{own:[...[...h,...r.flatMap(({lines:n})=>n)].map(n=>_(n,500)),...$&&!(0,o.vi)(t)?[_(`${s}
commandRegex = ${a(A)}
allowRedirection = true`,400)]:[],`[[rule]]
toolName = "*"
decision = "deny"
priority = 1
`].join(`
`),unmapped:(0,o.nF)([...r.filter(({rule:n,lines:d})=>n.kind!=="bookkeeping"&&n.kind!=="read"&&d.length===0).map(({rule:n})=>n),...(0,o.bN)(t),...(0,o.LN)(t)]),allowsMore:(0,o.dQ)(t)}}const N=(0,o.le)({shell:["run_shell_command"],question:"ask_user"}),s='toolName = "run_shell_command"',h=['toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"]','toolName = ["write_todos", "update_topic", "complete_task"]'];function _(e,t){return`[[rule]]
${e}
decision = "allow"
priority = ${String(t)}
`}function w(e){switch(e.kind){case"edit":return['toolName = ["write_file", "replace"]'];case"command":return k(e.commands);case"web-fetch":return e.domain===null?['toolName = "web_fetch"']:[];case"web-search":return['toolName = "google_web_search"'];case"mcp":return e.tool?.includes("*")===!0?[]:[`mcpName = ${a(e.server)}
toolName = ${a(e.tool??"*")}`];case"subagent":return['toolName = "invoke_agent"'];case"read":case"bookkeeping":case"other":return[]}}function k(e){const t="allowRedirection = true";if(e.kind==="any")return[`${s}
${t}`];const r=O(e);return r!==null&&r.length<=R?[`${s}
commandRegex = ${a(r)}
${t}`]:[]}const R=2e3,c='"\\u0000',b="[^\\u0000]*",f=`(?:${c}| ?(?:&&|[|][|]|;|[|]|\\\\n))`;function O(e){switch(e.kind){case"prefix":return e.prefix.trim()===""?null:`${u(e.prefix)}(?: |${p(e.prefix)})`;case"exact":return`${u(e.command)}${p(e.command)}`;case"glob":return`${e.glob.split("*").map(u).join(b)}${c}`}}function p(e){return/^[\w ./:=@%+,-]+$/.test(e)?f:c}const i="\\w./:=@%+,-",A=`(?:${[`cd (?![${i}]*[.][.])[\\w./][${i}]*`,`(?![ ${i}]*(?:[.][.]|[ =]/| -\\w/))(?:${o.Hk.filter(e=>e!=="cd").join("|")})(?:| [ ${i}]*)`].join("|")})${f}`;function u(e){return JSON.stringify(e).slice(1,-1).replace(/[\\^$.*+?()[\]{}|"]/g,"\\$&")}function a(e){return JSON.stringify(e).replaceAll("","\\u007F")}})};export{x as modules};
