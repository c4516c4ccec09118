import{modules as o}from"./58572.shared.js";import{modules as s}from"./58113.shared.js";const t=8572,d=[8572],m={...o,...s};export{t as id,d as ids,m as modules};
