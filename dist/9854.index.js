import{modules as o}from"./87473.shared.js";const t=9854,e=[9854,7473],r={...o};export{t as id,e as ids,r as modules};
