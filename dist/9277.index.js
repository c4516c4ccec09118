import{modules as o}from"./9277.shared.js";const t=9277,e=[9277],r={...o};export{t as id,e as ids,r as modules};
