import{modules as o}from"./38065.shared.js";const t=446,e=[446],r={...o};export{t as id,e as ids,r as modules};
