import{modules as o}from"./49545.shared.js";const t=9545,e=[9545],r={...o};export{t as id,e as ids,r as modules};
