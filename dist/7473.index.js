import{modules as o}from"./87473.shared.js";const t=7473,e=[7473,9854],r={...o};export{t as id,e as ids,r as modules};
