import{modules as o}from"./47296.shared.js";const t=7296,e=[7296],r={...o};export{t as id,e as ids,r as modules};
