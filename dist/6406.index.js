import{modules as o}from"./87140.shared.js";const t=6406,e=[6406],r={...o};export{t as id,e as ids,r as modules};
