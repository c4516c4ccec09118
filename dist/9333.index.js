import{modules as o}from"./29333.shared.js";const t=9333,e=[9333],r={...o};export{t as id,e as ids,r as modules};
