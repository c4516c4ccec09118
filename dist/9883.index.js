import{modules as o}from"./49883.shared.js";const t=9883,e=[9883],r={...o};export{t as id,e as ids,r as modules};
