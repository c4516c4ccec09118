import{modules as o}from"./93828.shared.js";const t=3828,e=[3828],r={...o};export{t as id,e as ids,r as modules};
