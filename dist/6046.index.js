import{modules as o}from"./46046.shared.js";const t=6046,e=[6046],r={...o};export{t as id,e as ids,r as modules};
