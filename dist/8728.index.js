import{modules as o}from"./58728.shared.js";const t=8728,e=[8728],r={...o};export{t as id,e as ids,r as modules};
