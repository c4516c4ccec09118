import{modules as o}from"./58113.shared.js";import{modules as s}from"./21034.shared.js";const t=8170,d=[8170],m={...o,...s};export{t as id,d as ids,m as modules};
