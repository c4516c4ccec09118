import{modules as o}from"./806.shared.js";const t=806,e=[806],r={...o};export{t as id,e as ids,r as modules};
