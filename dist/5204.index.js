import{modules as o}from"./25204.shared.js";import{modules as s}from"./58113.shared.js";const t=5204,d=[5204],m={...o,...s};export{t as id,d as ids,m as modules};
