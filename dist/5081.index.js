import{modules as o}from"./45081.shared.js";const t=5081,e=[5081,7462],r={...o};export{t as id,e as ids,r as modules};
