import{modules as o}from"./47778.shared.js";const t=7778,e=[7778],r={...o};export{t as id,e as ids,r as modules};
