import{modules as o}from"./42914.shared.js";const t=2914,e=[2914],r={...o};export{t as id,e as ids,r as modules};
