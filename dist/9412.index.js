import{modules as o}from"./9412.shared.js";const t=9412,e=[9412],r={...o};export{t as id,e as ids,r as modules};
