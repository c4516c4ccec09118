import{modules as o}from"./79613.shared.js";const t=9613,e=[9613],r={...o};export{t as id,e as ids,r as modules};
