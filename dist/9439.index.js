import{modules as o}from"./79439.shared.js";const t=9439,e=[9439],r={...o};export{t as id,e as ids,r as modules};
