import{modules as o}from"./95507.shared.js";const t=5507,e=[5507],r={...o};export{t as id,e as ids,r as modules};
