import{modules as o}from"./47537.shared.js";const t=7537,e=[7537],r={...o};export{t as id,e as ids,r as modules};
