import{modules as o}from"./84554.shared.js";const t=4554,e=[4554],r={...o};export{t as id,e as ids,r as modules};
